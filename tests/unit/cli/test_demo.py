"""What the quick start says about real tokens, and the manifest that it serves where it can."""

from pathlib import Path

import pytest
import yaml

from smarter.cli import demo
from smarter.cli.embedded import llama_server, processes, serving, state
from smarter.cli.embedded.launch import Stack
from smarter.cli.quickstart import Login, Shown, _cluster_line, screen
from smarter.core.errors import PermanentError

LOGIN = Login("1000-2000-3000", "demo", "sk-token", Path("/state/cli.json"))


def stack(folder: Path, server: Path | None) -> Stack:
    return Stack(folder, folder, {}, 8000, server, models_port=4001, engine_port=4002)


def test_without_a_server_the_screen_says_how_to_get_one(tmp_path: Path) -> None:
    running = stack(tmp_path, None)
    text = screen(running, LOGIN, Shown(None, _cluster_line(running, False, None), None))
    assert "runs no model and answers no prompt" in text
    assert "scripts/llama_server build" in text


def test_a_real_cluster_is_not_told_to_build_one(tmp_path: Path) -> None:
    running = stack(tmp_path, None)
    text = screen(running, LOGIN, Shown(None, _cluster_line(running, False, Path("/kube/config")), None))
    assert "llama_server" not in text


def test_with_a_server_the_screen_shows_the_question_and_the_answer(tmp_path: Path) -> None:
    running = stack(tmp_path, Path("/bin/llama-server"))
    host = {"name": demo.HOST, "status": {"hostStatus": "active", "endpoint": "http://inside.svc"}}
    answer = demo.Answer("curl …", "ba do", "http://127.0.0.1:4002/v1")
    text = screen(running, LOGIN, Shown(host, _cluster_line(running, False, None), answer))
    assert "Endpoint       http://127.0.0.1:4002/v1" in text
    assert "Try            curl …" in text
    assert "Answer         ba do (random weights, so random words)" in text
    assert "runs no model" not in text


def test_the_manifest_is_private_and_the_same_again(tmp_path: Path) -> None:
    running = stack(tmp_path, Path("/bin/llama-server"))
    file = demo.write_manifest(running)
    before = file.read_text()
    assert demo.write_manifest(running).read_text() == before
    assert file.stat().st_mode & 0o077 == 0
    compute, secret, host = yaml.safe_load_all(before)
    assert secret["spec"]["config"]["value"] == demo.key_file(running).read_text()
    assert host["spec"]["compute"] == compute["metadata"]["name"] == serving.COMPUTE
    assert host["spec"]["model"]["repository"] == "http://127.0.0.1:4001/random-words.gguf"


def test_ports_are_kept_unless_somebody_else_has_taken_them(tmp_path: Path) -> None:
    current = state.State()
    serving.prepare(tmp_path, current)
    again = state.load(tmp_path)
    serving.prepare(tmp_path, again)
    assert (again.models_port, again.engine_port) == (current.models_port, current.engine_port)
    with processes.listen(current.engine_port, fixed=True):
        serving.prepare(tmp_path, again)
    assert again.engine_port != current.engine_port
    assert again.models_port == current.models_port
    assert (tmp_path / "models" / serving.MODEL_FILE).read_bytes()[:4] == b"GGUF"


def test_the_server_is_found_by_name_by_path_and_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("LLAMA_SERVER", raising=False)
    assert llama_server.find() is None

    def program(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)
        return path

    for path in (llama_server.built_path(), tmp_path / "bin" / "llama-server", tmp_path / "own" / "server"):
        program(path)
        if path.parent.name == "own":
            monkeypatch.setenv("LLAMA_SERVER", str(path))
        found = llama_server.find()
        assert found is not None
        assert found.path == path
    monkeypatch.setenv("LLAMA_SERVER", str(tmp_path / "absent"))
    with pytest.raises(PermanentError, match="LLAMA_SERVER"):
        llama_server.find()
