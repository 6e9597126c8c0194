"""The volume's side alone: what of an earlier process is taken over, who may write, which folder wins."""

import json
import threading
import time
from pathlib import Path

import pytest

from smarter.fetch import lock, store

IDENTITY = {"source": "url", "repository": "https://example.com/a", "revision": "", "file": None}


def leave(target: Path, name: str, identity: dict) -> Path:
    folder = target.parent / f".tmp-{target.name}-{name}"
    folder.mkdir(parents=True)
    store.write_json(folder / store.PLAN, identity)
    (folder / "weights.partial").write_bytes(b"x" * 10)
    return folder


def test_only_a_folder_of_the_same_identity_is_taken_over(target: Path) -> None:
    other = leave(target, "other", {**IDENTITY, "repository": "https://example.com/b"})
    same = leave(target, "same", IDENTITY)
    unrelated = leave(target.with_name("another-key"), "x", IDENTITY)
    folder = store.working_folder(target, IDENTITY)
    assert (folder / "weights.partial").read_bytes() == b"x" * 10
    assert not other.exists()
    assert not same.exists()
    assert unrelated.exists()


def test_a_folder_of_another_identity_is_not_taken_over(target: Path) -> None:
    leave(target, "other", {**IDENTITY, "revision": "f" * 40})
    folder = store.working_folder(target, IDENTITY)
    assert [path.name for path in folder.iterdir()] == [store.PLAN]


def test_a_complete_folder_that_is_there_first_wins(target: Path) -> None:
    for content in (b"first", b"other"):
        folder = store.working_folder(target, IDENTITY) if target.parent.exists() else _new(target)
        (folder / "a").write_bytes(content)
        store.publish(folder, target, IDENTITY, [{"path": "a", "size": 5, "sha256": ""}])
        assert not folder.exists()
    assert (target / "a").read_bytes() == b"first"


def _new(target: Path) -> Path:
    target.parent.mkdir(parents=True)
    return store.working_folder(target, IDENTITY)


@pytest.mark.parametrize("obstacle", ["file", "folder", "link"])
def test_something_else_in_the_way_is_replaced(target: Path, tmp_path: Path, obstacle: str) -> None:
    folder = _new(target)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "keep").touch()
    if obstacle == "file":
        target.write_text("x")
    elif obstacle == "folder":
        (target / "deep").mkdir(parents=True)
    else:
        target.symlink_to(tmp_path / "precious")
    store.publish(folder, target, IDENTITY, [])
    assert store.read_marker(target)
    assert (tmp_path / "precious" / "keep").exists()


def hold(target: Path) -> bool:
    with lock.held(target, lambda: False, lambda: None) as is_mine:
        return is_mine


def test_an_owner_on_another_machine_is_believed_until_its_sign_stands_still(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case of a network file system without locks: flock says yes, the sign of life says no."""
    monkeypatch.setattr(lock, "DEAD_AFTER_SECONDS", 0.6)
    monkeypatch.setattr(lock, "POLL_SECONDS", 0.02)
    target.parent.mkdir(parents=True)
    sign = target.parent / f".owner-{target.name}"
    last_beat = [0.0]

    def beat() -> None:
        for count in range(10):
            store.write_json(sign, {"host": "another-pod", "owner": "x", "beat": count})
            last_beat[0] = time.monotonic()
            time.sleep(0.1)

    store.write_json(sign, {"host": "another-pod", "owner": "x", "beat": -1})
    thread = threading.Thread(target=beat)
    thread.start()
    assert hold(target)
    waited = time.monotonic() - last_beat[0]
    thread.join()
    assert waited >= 0.6


def test_a_dead_owner_on_this_machine_is_not_waited_for(target: Path) -> None:
    target.parent.mkdir(parents=True)
    with lock.held(target, lambda: False, lambda: None):
        time.sleep(0.1)
        dead = (target.parent / f".owner-{target.name}").read_text()
    assert json.loads(dead)["beat"] == 1
    (target.parent / f".owner-{target.name}").write_text(dead)
    started = time.monotonic()
    assert hold(target)
    assert time.monotonic() - started < 5


def test_a_waiter_leaves_when_the_work_is_done(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "POLL_SECONDS", 0.01)
    target.parent.mkdir(parents=True)
    polls: list[int] = []
    with (
        lock.held(target, lambda: False, lambda: None) as first,
        lock.held(target, lambda: len(polls) > 3, lambda: polls.append(1)) as second,
    ):
        assert (first, second) == (True, False)
