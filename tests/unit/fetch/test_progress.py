"""The lines on standard output."""

import io
import json
from pathlib import Path

from smarter.fetch.progress import Progress


def test_lines_are_rare_and_the_last_one_is_always_there() -> None:
    stream = io.StringIO()
    progress = Progress(stream, interval_seconds=3600)
    progress.total = 100
    for _ in range(100):
        progress.add(1)
    progress.end("complete", bytes=100)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert lines == [{"event": "progress", "bytes": 1, "total": 100}, {"event": "complete", "bytes": 100}]


def test_a_secret_that_slips_into_a_message_is_replaced_everywhere(tmp_path: Path) -> None:
    stream = io.StringIO()
    log = tmp_path / "log"
    progress = Progress(stream, secrets=("hf_canary", ""), last_words=log)
    progress.say("retry", message="got hf_canary from a server")
    progress.end("error", message="hf_canary\nforged line")
    assert "canary" not in stream.getvalue() + log.read_text()
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["retry", "error"]


def test_last_words_fit_the_kubelet_and_a_missing_file_does_no_harm(tmp_path: Path) -> None:
    log = tmp_path / "log"
    Progress(io.StringIO(), last_words=log).end("error", message="x" * 10_000)
    assert len(log.read_text()) <= 4096
    Progress(io.StringIO(), last_words=tmp_path / "no" / "folder").end("complete")
