"""Where weights come from, where they end up, and which places are refused."""

from types import SimpleNamespace
from typing import Any

import pytest

from smarter.core.facts import Environment
from smarter.core.source import Weights
from smarter.fetch.__main__ import arguments
from smarter.sources import SOURCES

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def spec(repository: str, **fields: Any) -> Any:
    claim = fields.pop("claim", "team-weights")
    model = {"repository": repository, "revision": None, "file": None, **fields}
    return SimpleNamespace(model=SimpleNamespace(**model), storage=SimpleNamespace(existingClaim=claim))


def weights(source: str, repository: str, **fields: Any) -> Weights:
    return SOURCES[source].weights(spec(repository, **fields), Environment(), "files")


def paths(source: str, repository: str, **fields: Any) -> list[str]:
    return [problem.path for problem in SOURCES[source].check(spec(repository, **fields))]


ROWS = [
    ("huggingface", "Qwen/Qwen3-8B", {}),
    ("huggingface", "Qwen/Qwen3-8B", {"revision": COMMIT, "file": "a/b.gguf"}),
    ("url", "https://example.com/a/m.gguf", {}),
    ("url", "https://example.com/download?id=3", {"file": "m.gguf"}),
    ("pvc", "qwen/m.gguf", {}),
    ("pvc", "qwen", {}),
    ("pvc", "qwen", {"file": "m.gguf"}),
    ("pvc", ".", {"file": "m.gguf"}),
]


@pytest.mark.parametrize(("source", "repository", "fields"), ROWS)
def test_the_fetch_program_understands_its_arguments(source: str, repository: str, fields: dict[str, Any]) -> None:
    found = weights(source, repository, **fields)
    assert found.fetch is not None
    options = arguments().parse_args(found.fetch.args)
    assert options.source == source
    assert str(options.target) == ("/models" if source == "pvc" else found.folder)


@pytest.mark.parametrize(
    ("source", "repository", "fields", "path"),
    [
        ("pvc", "qwen/m.gguf", {}, "/models/qwen/m.gguf"),
        ("pvc", "m.gguf", {}, "/models/m.gguf"),
        ("pvc", "qwen/", {}, "/models/qwen"),
        ("pvc", "qwen", {"file": "m.gguf"}, "/models/qwen/m.gguf"),
        ("pvc", ".", {}, "/models"),
        ("pvc", ".", {"file": "m.gguf"}, "/models/m.gguf"),
    ],
)
def test_places_on_a_volume(source: str, repository: str, fields: dict[str, Any], path: str) -> None:
    assert weights(source, repository, **fields).path == path


def test_the_root_of_a_volume_needs_no_look() -> None:
    assert weights("pvc", ".").fetch is None


def test_folders_are_named_by_what_they_hold() -> None:
    folders = {
        weights("huggingface", "a/b").folder,
        weights("huggingface", "a/c").folder,
        weights("huggingface", "a/b", revision="v2").folder,
        weights("huggingface", "a/b", file="x.gguf").folder,
        weights("url", "https://e.com/x.gguf").folder,
    }
    assert len(folders) == 5
    assert all(folder.startswith("/models/") and len(folder) == len("/models/") + 16 for folder in folders)
    assert weights("huggingface", "a/b").folder == weights("huggingface", "a/b", revision="main").folder


def test_file_of_an_address() -> None:
    assert weights("url", "https://e.com/a/m.gguf?x=1").path.endswith("/m.gguf")


@pytest.mark.parametrize(
    "repository",
    [
        "qwen",
        "a/b/c",
        "/a/b",
        "a/",
        "a b/c",
        "a/b;c",
        "--x/y",
        "a/b$(c)",
        "../b",
        "a/..",
        "",
        "a\\b",
        "https://e.com/a",
    ],
)
def test_repositories_of_the_hub(repository: str) -> None:
    assert paths("huggingface", repository) == ["spec.model.repository"]


def test_all_faults_of_a_hub_model() -> None:
    found = paths("huggingface", "x", revision="--y", file="/abs")
    assert found == ["spec.model.repository", "spec.model.file", "spec.model.revision"]


TRAVERSALS = [
    "../x", "a/../b", "..", "/etc/passwd", "//x", "a//b", "./a", "a/./b", "~/x", "~root/x", "-rf", "--help", "a\\..\\b",
    "..\\x", "a\x00b", "a b", "a\tb", "a\nb", "%2e%2e/x", "a/%2e%2e/b", "a/..%2fb", "..%5cx", "$(x)", "`x`", "a;b",
    "a|b",
    "a&b", "a>b", "a<b", "'a'", '"a"', "a*b", "a?b", "{a}", "(a)", "a!b", "a#b", "", " ", "...//x", "a/..;/b", "..;/x",
    "a/../../b", "../../../../etc/shadow", "a/b/../../../c", "/", "/models/x", "\\\\host\\share", "a/\x7f", "..%00/x",
    "\u202ex y", "a\u00a0b", "a\u2028b", "${x}", "a$(b)", "a//", "/.", "./", "a/..",
]  # fmt: skip


@pytest.mark.parametrize("path", TRAVERSALS)
def test_paths_that_leave_their_folder(path: str) -> None:
    assert "spec.model.repository" in paths("pvc", path)
    assert "spec.model.file" in paths("pvc", "a", file=path)
    assert "spec.model.file" in paths("huggingface", "a/b", file=path)


@pytest.mark.parametrize("path", ["qwen", "a/b/c", "a/b.gguf", ".", "a..b", "models--x/snapshots/1", "a@b:c,d=e+f~1"])
def test_paths_that_stay(path: str) -> None:
    assert paths("pvc", path) == []


def test_a_volume_needs_its_claim() -> None:
    assert paths("pvc", "a", claim=None) == ["spec.storage.existingClaim"]


ADDRESSES = [
    "http://example.com/m.gguf", "file:///etc/passwd", "gopher://example.com/m", "ftp://example.com/m",
    "//example.com/m",
    "example.com/m.gguf", "https:///m", "https://", "https://example.com", "https://example.com/",
    "https://example.com/a/",
    "https://169.254.169.254/latest/m", "https://10.0.0.1/m", "https://192.168.1.1/m", "https://172.16.0.1/m",
    "https://127.0.0.1/m", "https://0.0.0.0/m", "https://100.64.0.1/m", "https://[::1]/m", "https://[fe80::1]/m",
    "https://[::ffff:a9fe:a9fe]/m", "https://[fd00::1]/m", "https://2130706433/m", "https://0x7f.1/m",
    "https://127.1/m",
    "https://0177.0.0.1/m", "https://localhost/m", "https://a.localhost/m", "https://metadata/m",
    "https://a.internal/m",
    "https://metadata.google.internal/m", "https://a.local/m", "https://kubernetes.default.svc/m",
    "https://x.y.svc.cluster.local/m", "https://user@example.com/m", "https://user:pw@example.com/m",
    "https://example.com@10.0.0.1/m", "https://example.com:8443/m", "https://example.com:22/m",
    "https://example.com:0/m",
    "https://example.com:99999/m", "https://example.com\\@10.0.0.1/m", "https://example.com/m#x",
    "https://exa mple.com/m",
    "https://example.com/../m", "https://example.com/%2e%2e/m", "https://example.com/a/-rf",
    "https://example.com/a%2fm",
    "https://-example.com/m", "https://example..com/m", "https://example.com./m", "https://ex_ample.com/m",
    "https://ex\u0430mple.com/m", "https://example.com/m\n", "https://example.com/$(x)", "https://example.com/`x`",
    "HTTPS://10.0.0.1/m", "https://1.2.3/m", "https://example.com/m.tar.gz", "https://example.com/m.zip?x=1",
    "https://[::1/m", "https://example.123/m",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_that_are_not_public_files(address: str) -> None:
    assert "spec.model.repository" in paths("url", address)


@pytest.mark.parametrize(
    "address",
    ["https://example.com/m.gguf", "https://example.com:443/m.gguf", "https://a.b.example.co.uk/x/y.gguf?sig=a%2Fb&c=d",
     "https://93.184.215.14/m.gguf", "https://xn--bcher-kva.example/m.gguf"],
)  # fmt: skip
def test_public_files(address: str) -> None:
    assert paths("url", address) == []
