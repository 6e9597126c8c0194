"""Whole fetches against a real server on loopback: the good course, and every fault that the program promises to
survive or to name."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from smarter.fetch import lock, run, store
from tests.unit.fetch.conftest import WEIGHTS, Outcome
from tests.unit.fetch.server import COMMIT, REPOSITORY, Site, cut, drip, hang, other_content, redirect, status

Fetch = Callable[..., Outcome]
FIRST = "model-00001-of-00002.safetensors"
SECOND = "model-00002-of-00002.safetensors"


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def leftovers(target: Path) -> list[str]:
    return [path.name for path in target.parent.iterdir() if path.name.startswith(".tmp-")]


def marker(target: Path) -> dict:
    return json.loads((target / ".smarter-complete").read_text())


def test_a_repository_arrives_whole_with_its_marker(fetch: Fetch, site: Site, target: Path) -> None:
    outcome = fetch()
    assert outcome.code == 0, outcome.text
    wanted = {"config.json", "tokenizer/vocab.txt", FIRST, SECOND, "empty.txt"}
    assert names(target) == wanted | {".smarter-complete"}
    for name in wanted:
        assert (target / name).read_bytes() == site.files[name]
    found = marker(target)
    assert found["revision"] == COMMIT
    assert found["requestedRevision"] == "main"
    assert {entry["path"]: (entry["size"], entry["sha256"]) for entry in found["files"]} == {
        name: (len(site.files[name]), hashlib.sha256(site.files[name]).hexdigest()) for name in wanted
    }
    assert found["finished"].endswith("Z")
    assert leftovers(target) == []
    total = sum(len(site.files[name]) for name in wanted)
    assert outcome.last == {"event": "complete", "revision": COMMIT, "files": 5, "bytes": total}
    progress = [line for line in outcome.lines if line["event"] == "progress"]
    assert progress[-1] == {"event": "progress", "bytes": total, "total": total}


def test_a_complete_target_is_left_alone_without_a_single_request(fetch: Fetch, site: Site, target: Path) -> None:
    assert fetch().code == 0
    before = (target / ".smarter-complete").stat()
    site.requests.clear()
    again = fetch()
    assert again.code == 0
    assert again.last["event"] == "complete"
    assert site.requests == []
    assert (target / ".smarter-complete").stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("damage", ["shorter", "gone", "marker_gone", "marker_garbage"])
def test_a_damaged_target_is_replaced(fetch: Fetch, site: Site, target: Path, damage: str) -> None:
    assert fetch().code == 0
    if damage == "shorter":
        (target / FIRST).write_bytes(b"x")
    elif damage == "gone":
        (target / "config.json").unlink()
    elif damage == "marker_gone":
        (target / ".smarter-complete").unlink()
    else:
        (target / ".smarter-complete").write_text('{"files": 7}')
    assert fetch().code == 0
    assert (target / FIRST).read_bytes() == WEIGHTS
    assert (target / "config.json").read_bytes() == site.files["config.json"]
    assert leftovers(target) == []


def test_a_single_file(fetch: Fetch, site: Site, target: Path) -> None:
    assert fetch("--file", "tokenizer/vocab.txt").code == 0
    assert names(target) == {"tokenizer/vocab.txt", ".smarter-complete"}


def test_a_split_file_brings_its_parts(fetch: Fetch, site: Site, target: Path) -> None:
    parts = {f"q4/big-0000{number}-of-00003.gguf": b"part %d" % number for number in (1, 2, 3)}
    site.files.update(parts, **{"q8/big.gguf": b"other"})
    assert fetch("--file", "q4/big-00001-of-00003.gguf").code == 0
    assert names(target) == {*parts, ".smarter-complete"}


def test_a_split_file_without_one_of_its_parts(fetch: Fetch, site: Site) -> None:
    site.files["big-00001-of-00002.gguf"] = b"part 1"
    outcome = fetch("--file", "big-00001-of-00002.gguf")
    assert (outcome.code, outcome.last["reason"]) == (4, "not_found")
    assert "big-00002-of-00002.gguf" in outcome.last["message"]


def test_weights_in_bin_files_are_brought_where_there_are_no_safetensors(
    fetch: Fetch, site: Site, target: Path
) -> None:
    del site.files[FIRST], site.files[SECOND]
    assert fetch().code == 0
    assert "pytorch_model.bin" in names(target)
    assert "original/consolidated.00.pth" not in names(target)


def test_the_list_of_files_comes_in_pages(fetch: Fetch, site: Site, target: Path) -> None:
    site.page_size = 2
    assert fetch().code == 0
    assert {FIRST, SECOND, "empty.txt"} <= names(target)
    assert sum("/tree/" in path for path in site.paths()) == 5


def test_a_cut_connection_is_resumed_where_it_broke(fetch: Fetch, site: Site, single: str, target: Path) -> None:
    site.faults += [(single, cut(1_500_000)), (single, cut(700_000))]
    assert fetch("--file", single).code == 0
    assert (target / single).read_bytes() == WEIGHTS
    ranges = [headers.get("Range") for headers in site.downloads(single)]
    assert ranges == [None, "bytes=1500000-", "bytes=2200000-"]
    assert all("If-Range" in headers for headers in site.downloads(single)[1:])
    assert site.bytes_sent < len(WEIGHTS) + 5000


@pytest.mark.parametrize("later", [WEIGHTS[::-1], b"much shorter"], ids=["other", "shorter"])
def test_a_file_that_changed_in_between_is_begun_again(fetch: Fetch, site: Site, target: Path, later: bytes) -> None:
    url = f"{site.url}/weights.gguf"
    site.files["weights.gguf"] = WEIGHTS

    def swap(handler: object) -> bool:
        site.files["weights.gguf"] = later
        return False

    site.faults += [("weights.gguf", cut(1_500_000)), ("weights.gguf", swap)]
    assert fetch("--source", "url", "--repository", url, hub=False).code == 0
    assert (target / "weights.gguf").read_bytes() == later


@pytest.mark.parametrize("weakness", ["ranges", "etags"])
def test_servers_without_ranges_or_versions(fetch: Fetch, site: Site, target: Path, weakness: str) -> None:
    setattr(site, weakness, False)
    site.files["weights.gguf"] = WEIGHTS
    site.faults += [("weights.gguf", cut(1_500_000))]
    assert fetch("--source", "url", "--repository", f"{site.url}/weights.gguf", hub=False).code == 0
    assert (target / "weights.gguf").read_bytes() == WEIGHTS


def test_server_errors_and_rate_limits_are_waited_out(fetch: Fetch, site: Site, target: Path) -> None:
    site.faults += [
        ("/revision/main", status(503)),
        (f"/tree/{COMMIT}", status(429, {"Retry-After": "0"})),
        (FIRST, status(500)),
        (FIRST, status(502)),
    ]
    outcome = fetch()
    assert outcome.code == 0, outcome.text
    assert [line["failures"] for line in outcome.lines if line["event"] == "retry"] == [1, 2]


def test_a_server_that_never_recovers_ends_the_fetch(fetch: Fetch, site: Site, target: Path) -> None:
    site.faults += [(FIRST, status(503))] * 10
    outcome = fetch()
    assert (outcome.code, outcome.last["reason"]) == (7, "unreachable")
    assert len(site.downloads(FIRST)) == 4
    assert not target.exists()


def test_what_was_brought_before_a_failure_is_used_the_next_time(
    fetch: Fetch, site: Site, single: str, target: Path
) -> None:
    site.faults += [(single, cut(1_500_000)), *[(single, status(503))] * 3]
    assert fetch("--parallel", "1", "--file", single).code == 7
    assert len(leftovers(target)) == 1
    site.requests.clear()
    outcome = fetch("--parallel", "1", "--file", single)
    assert outcome.code == 0
    assert [headers.get("Range") for headers in site.downloads(single)] == ["bytes=1500000-"]
    assert (target / single).read_bytes() == WEIGHTS
    progress = [line["bytes"] for line in outcome.lines if line["event"] == "progress"]
    assert (min(progress), max(progress)) == (1_500_000, len(WEIGHTS))


def test_finished_files_of_an_earlier_process_are_checked_and_kept(fetch: Fetch, site: Site, target: Path) -> None:
    site.faults += [(SECOND, status(503))] * 4
    assert fetch("--parallel", "1").code == 7
    folder = target.parent / leftovers(target)[0]
    assert (folder / FIRST).exists()
    damaged = bytearray(WEIGHTS)
    damaged[1000] ^= 1
    site.requests.clear()
    assert fetch("--parallel", "1").code == 0
    assert site.downloads(FIRST) == []
    (target / ".smarter-complete").unlink()
    target.rename(folder)
    (folder / FIRST).write_bytes(damaged)
    store.write_json(folder / store.PLAN, _plan())
    assert fetch("--parallel", "1").code == 0
    assert (target / FIRST).read_bytes() == WEIGHTS
    assert len(site.downloads(FIRST)) == 1


def _plan() -> dict:
    return {
        "source": "huggingface",
        "repository": REPOSITORY,
        "requestedRevision": "main",
        "revision": COMMIT,
        "file": None,
    }


def test_leftovers_of_another_commit_are_not_used(fetch: Fetch, site: Site, target: Path) -> None:
    old = target.parent / f".tmp-{target.name}-old"
    old.mkdir(parents=True)
    store.write_json(old / store.PLAN, {**_plan(), "revision": "f" * 40})
    (old / "stranger.txt").write_text("x")
    assert fetch().code == 0
    assert "stranger.txt" not in names(target)
    assert leftovers(target) == []


def test_one_damaged_transfer_is_repeated(fetch: Fetch, site: Site, target: Path) -> None:
    damaged = bytearray(WEIGHTS)
    damaged[123_456] ^= 1
    site.faults += [(FIRST, other_content(bytes(damaged)))]
    assert fetch().code == 0
    assert (target / FIRST).read_bytes() == WEIGHTS


@pytest.mark.parametrize("name", [FIRST, "config.json"], ids=["sha256", "git"])
def test_a_wrong_checksum_is_named(fetch: Fetch, site: Site, target: Path, name: str) -> None:
    site.listed = dict(site.files)
    damaged = bytearray(site.files[name])
    damaged[5] ^= 1
    site.files[name] = bytes(damaged)
    outcome = fetch()
    assert (outcome.code, outcome.last["reason"]) == (5, "checksum_mismatch")
    assert name in outcome.last["message"]
    assert not target.exists()


@pytest.mark.parametrize("change", [b"longer", b""], ids=["longer", "shorter"])
def test_a_wrong_size_is_named(fetch: Fetch, site: Site, target: Path, change: bytes) -> None:
    site.listed = dict(site.files)
    site.files[FIRST] = WEIGHTS + change if change else WEIGHTS[:-7]
    outcome = fetch()
    assert (outcome.code, outcome.last["reason"]) == (5, "checksum_mismatch")
    assert not target.exists()


def test_the_checksum_of_a_url(fetch: Fetch, site: Site, target: Path) -> None:
    site.files["a.gguf"] = WEIGHTS
    url = ["--source", "url", "--repository", f"{site.url}/a.gguf?signature=hidden", "--file", "model.gguf"]
    assert fetch(*url, "--sha256", "0" * 64, hub=False).code == 5
    outcome = fetch(*url, "--sha256", hashlib.sha256(WEIGHTS).hexdigest().upper(), hub=False)
    assert outcome.code == 0
    assert names(target) == {"model.gguf", ".smarter-complete"}
    assert outcome.lines[-2] == {"event": "progress", "bytes": len(WEIGHTS), "total": len(WEIGHTS)}
    assert "hidden" not in (target / ".smarter-complete").read_text()


def test_a_gated_model_without_a_token(fetch: Fetch, site: Site) -> None:
    site.token = "hf_right"
    outcome = fetch()
    assert (outcome.code, outcome.last["reason"]) == (3, "gated")
    assert "HF_TOKEN" in outcome.last["message"]


def test_a_gated_model_with_the_wrong_token(fetch: Fetch, site: Site) -> None:
    site.token = "hf_right"
    outcome = fetch(HF_TOKEN="hf_wrong_canary")
    assert (outcome.code, outcome.last["reason"]) == (3, "gated")
    assert "not on its list" in outcome.last["message"]
    assert "hf_wrong_canary" not in outcome.text


@pytest.mark.parametrize("way", ["variable", "file"])
def test_the_token_is_sent_and_never_printed_or_stored(
    fetch: Fetch, site: Site, target: Path, tmp_path: Path, way: str
) -> None:
    site.token = "hf_canary_token"
    (tmp_path / "token").write_text("hf_canary_token\n")
    env = {"HF_TOKEN": "hf_canary_token"} if way == "variable" else {"HF_TOKEN_FILE": str(tmp_path / "token")}
    outcome = fetch(**env)
    assert outcome.code == 0, outcome.text
    assert "canary" not in outcome.text
    for path in target.parent.rglob("*"):
        assert not path.is_file() or b"canary" not in path.read_bytes()


def test_the_token_does_not_follow_a_redirect_to_another_origin(
    fetch: Fetch, site: Site, single: str, target: Path
) -> None:
    with_other = site.url.replace("127.0.0.1", "localhost")
    site.faults += [(f"/resolve/{COMMIT}/{single}", redirect(f"{with_other}/{REPOSITORY}/resolve/{COMMIT}/{single}"))]
    assert fetch("--file", single, HF_TOKEN="hf_canary").code == 0
    first, second = site.downloads(single)
    assert first["Authorization"] == "Bearer hf_canary"
    assert "Authorization" not in second


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["--repository", "acme/absent"], 4, "not_found"),
        (["--revision", "v9"], 4, "not_found"),
        (["--file", "absent.gguf"], 4, "not_found"),
        (["--repository", "a/b/c"], 2, "bad_url"),
        (["--repository", "../b"], 2, "bad_url"),
        (["--repository", "--help;id"], None, None),
        (["--revision", "../../x"], 2, "bad_url"),
        (["--file", "../../etc/passwd"], 2, "bad_path"),
        (["--file", "/etc/passwd"], 2, "bad_path"),
        (["--file", "a\\b"], 2, "bad_path"),
        (["--file", ".smarter-complete"], 2, "bad_path"),
    ],
)
def test_what_does_not_exist_or_cannot(
    fetch: Fetch, arguments: list[str], code: int | None, reason: str | None
) -> None:
    if code is None:
        with pytest.raises(SystemExit) as caught:
            fetch(*arguments)
        assert caught.value.code == 2
        return
    outcome = fetch(*arguments)
    assert (outcome.code, outcome.last["reason"]) == (code, reason)


@pytest.mark.parametrize(
    "name", ["../evil", "/evil", "a/../../evil", "a\\..\\evil", ".smarter-complete", "a//b", "a\x07"]
)
def test_a_hub_that_lists_dangerous_names(fetch: Fetch, site: Site, target: Path, name: str) -> None:
    site.listed = {"config.json": site.files["config.json"], name: b"x"}
    outcome = fetch()
    assert (outcome.code, outcome.last["reason"]) == (10, "bad_answer")
    assert not target.exists()


def test_a_server_that_falls_silent(fetch: Fetch, site: Site, target: Path) -> None:
    release = threading.Event()
    site.files["weights.gguf"] = WEIGHTS
    site.faults += [("weights.gguf", hang(release, after=1000))] * 2
    url = f"{site.url}/weights.gguf"
    arguments = ["--source", "url", "--repository", url, "--stall-seconds", "0.3", "--attempts", "2"]
    started = time.monotonic()
    outcome = fetch(*arguments, hub=False)
    release.set()
    assert (outcome.code, outcome.last["reason"]) == (7, "stalled")
    assert time.monotonic() - started < 10


def test_a_server_that_drips(fetch: Fetch, site: Site, single: str, target: Path) -> None:
    release = threading.Event()
    site.faults += [(single, drip(release, 0.05))]
    started = time.monotonic()
    outcome = fetch("--file", single, "--stall-seconds", "0.4")
    release.set()
    assert outcome.code == 0
    assert time.monotonic() - started < 5
    assert [line["reason"] for line in outcome.lines if line["event"] == "retry"] == ["stalled"]


def test_a_stall_is_survived(fetch: Fetch, site: Site, single: str, target: Path) -> None:
    release = threading.Event()
    site.faults += [(single, hang(release))]
    outcome = fetch("--file", single, "--stall-seconds", "0.3")
    release.set()
    assert outcome.code == 0
    assert (target / single).read_bytes() == WEIGHTS


def test_a_closed_port(fetch: Fetch, site: Site) -> None:
    outcome = fetch("--source", "url", "--repository", "http://127.0.0.1:1/x.gguf", hub=False)
    assert (outcome.code, outcome.last["reason"]) == (7, "unreachable")


def test_too_little_space_is_told_before_a_byte_is_brought(
    fetch: Fetch, site: Site, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "free_bytes", lambda folder: 1_000_000)
    outcome = fetch()
    assert (outcome.code, outcome.last["reason"]) == (6, "disk_full")
    assert "1000000 are free" in outcome.last["message"]
    assert site.downloads(FIRST) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_volume_that_fills_up_on_the_way(
    fetch: Fetch, site: Site, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.parent.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(target.parent)], check=False)
    if mounted.returncode:
        pytest.skip("this machine does not let a test mount a file system")
    try:
        monkeypatch.setattr(store, "free_bytes", lambda folder: 10**12)
        outcome = fetch("--parallel", "1")
        assert (outcome.code, outcome.last["reason"]) == (6, "disk_full")
        assert leftovers(target) == []
        assert not target.exists()
    finally:
        subprocess.run(["umount", str(target.parent)], check=True)


def _program(site: Site, target: Path, *extra: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "smarter.fetch", "--source", "huggingface", "--repository", REPOSITORY]
    command += ["--hub-url", site.url, "--target", str(target), "--allow-http", "--allow-private"]
    command += ["--stall-seconds", "5", "--backoff-seconds", "0.05", *extra]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])


def test_two_processes_for_one_key_bring_it_once(site: Site, target: Path) -> None:
    release = threading.Event()
    site.faults += [(FIRST, hang(release))]
    both = [_program(site, target), _program(site, target)]
    time.sleep(1.5)
    release.set()
    texts = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], texts
    assert len(site.downloads(SECOND)) == 1
    assert (target / FIRST).read_bytes() == WEIGHTS
    assert any('"waiting"' in text for text in texts)
    assert leftovers(target) == []


def test_two_writers_without_a_working_lock_do_not_harm_each_other(
    site: Site, target: Path, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst case: file locks do nothing and both believe that the other is dead."""
    release = threading.Event()
    site.faults += [(FIRST, hang(release))]
    other = _program(site, target)
    deadline = time.monotonic() + 20
    while not site.downloads(FIRST) and time.monotonic() < deadline:
        time.sleep(0.05)
    monkeypatch.setattr(lock, "_flock", lambda handle: True)
    outcome = fetch()
    release.set()
    text, _ = other.communicate(timeout=60)
    assert outcome.code == 0, outcome.text
    assert (target / FIRST).read_bytes() == WEIGHTS
    assert (target / SECOND).read_bytes() == WEIGHTS[::-1]
    assert store.read_marker(target)
    assert "Traceback" not in text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_process_leaves_nothing_half_and_the_next_one_goes_on(
    site: Site, target: Path, fetch: Fetch, number: signal.Signals
) -> None:
    release = threading.Event()
    site.faults += [(FIRST, cut(1_500_000)), *[(FIRST, hang(release))] * 3]
    process = _program(site, target, "--parallel", "1", "--stall-seconds", "3")
    deadline = time.monotonic() + 20
    while len(site.downloads(FIRST)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    process.communicate(timeout=20)
    release.set()
    assert process.returncode == (143 if number == signal.SIGTERM else -9)
    assert not target.exists()
    site.faults.clear()
    site.requests.clear()
    started = time.monotonic()
    assert fetch("--parallel", "1").code == 0
    assert time.monotonic() - started < 5
    assert site.downloads(FIRST)[0]["Range"] == "bytes=1500000-"
    assert leftovers(target) == []


def test_the_last_words_go_where_kubernetes_reads_them(fetch: Fetch, site: Site, tmp_path: Path) -> None:
    log = tmp_path / "termination-log"
    log.touch()
    assert fetch("--termination-log", str(log), "--file", "absent").code == 4
    assert json.loads(log.read_text())["reason"] == "not_found"


def test_other_users_may_read_the_model(fetch: Fetch, target: Path) -> None:
    assert fetch().code == 0
    for path in (target, *target.rglob("*")):
        wanted = 0o055 if path.is_dir() else 0o044
        assert path.stat().st_mode & wanted == wanted, path


def test_a_look_alone_brings_nothing(fetch: Fetch, site: Site, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "VERIFY_SECONDS", 0.1)
    absent = fetch("--verify")
    assert (absent.code, absent.last["reason"]) == (11, "incomplete")
    assert site.requests == []
    assert not target.exists()
    assert fetch().code == 0
    (target / FIRST).write_bytes(b"x")
    assert fetch("--verify").code == 11


def test_a_look_waits_for_news_of_a_slow_file_system(fetch: Fetch, site: Site, target: Path) -> None:
    assert fetch().code == 0
    aside = target.with_name("aside")
    target.rename(aside)
    later = threading.Timer(0.5, aside.rename, [target])
    later.start()
    assert fetch("--verify").code == 0
    later.join()


def test_too_many_requests_for_good_are_named(fetch: Fetch, site: Site) -> None:
    site.faults += [("/revision/main", status(429))] * 10
    outcome = fetch()
    assert (outcome.code, outcome.last["reason"]) == (7, "rate_limited")
    assert "429" in outcome.last["message"]
