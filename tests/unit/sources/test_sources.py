"""Where weights come from, where they end up, and which places are refused."""

from types import SimpleNamespace
from typing import Any

import pytest

from smarter.core.facts import Environment
from smarter.core.problems import Problem, errors_of, warnings_of
from smarter.core.source import Layout, Weights
from smarter.fetch.__main__ import arguments
from smarter.sources import SOURCES

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def spec(repository: str, **fields: Any) -> Any:
    claim, env, account = fields.pop("claim", "team-weights"), fields.pop("env", None), fields.pop("account", None)
    model = {"repository": repository, "revision": None, "file": None, "tokenSecret": None, **fields}
    return SimpleNamespace(
        model=SimpleNamespace(**model),
        storage=SimpleNamespace(existingClaim=claim),
        engine=SimpleNamespace(env=env),
        resources=SimpleNamespace(serviceAccountName=account),
    )


def weights(source: str, repository: str, layout: Layout = "files", **fields: Any) -> Weights:
    return SOURCES[source].weights(spec(repository, **fields), Environment(), layout)


def problems(source: str, repository: str, environment: Environment | None = None, **fields: Any) -> list[Problem]:
    """Of the rules that need nothing but the manifest, and of those that the operator has a say in."""
    given = spec(repository, **fields)
    return [*SOURCES[source].check(given), *SOURCES[source].reach(given, environment or Environment())]


def paths(source: str, repository: str, **fields: Any) -> list[str]:
    return [problem.path for problem in errors_of(problems(source, repository, **fields))]


ROWS = [
    ("huggingface", "Qwen/Qwen3-8B", {}),
    ("huggingface", "Qwen/Qwen3-8B", {"revision": COMMIT, "file": "a/b.gguf"}),
    ("url", "https://example.com/a/m.gguf", {}),
    ("url", "https://example.com/download?id=3", {"file": "m.gguf"}),
    ("pvc", "qwen/m.gguf", {}),
    ("pvc", "qwen", {}),
    ("pvc", "qwen", {"file": "m.gguf"}),
    ("pvc", ".", {"file": "m.gguf"}),
    ("s3", "s3://models/qwen", {}),
    ("s3", "s3://models/qwen/m.gguf", {"env": {"AWS_REGION": "eu-central-1"}}),
    ("huggingface", "Qwen/Qwen3-8B-GGUF", {"layout": "registry"}),
    ("ollama", "llama3.1:8b", {"layout": "registry"}),
]


@pytest.mark.parametrize(("source", "repository", "fields"), ROWS)
def test_the_fetch_program_understands_its_arguments(source: str, repository: str, fields: dict[str, Any]) -> None:
    found = weights(source, repository, **fields)
    assert found.fetch is not None
    options = arguments().parse_args(found.fetch.args)
    assert options.source == source
    assert str(options.target) == ("/models" if source == "pvc" else found.folder)
    assert (options.allow_http, options.allow_private) == (False, False)


@pytest.mark.parametrize(("source", "repository", "fields"), [row for row in ROWS if row[0] != "pvc"])
def test_a_trusted_place_is_told_to_the_fetch_program(source: str, repository: str, fields: dict[str, Any]) -> None:
    given = {**fields}
    layout = given.pop("layout", "files")
    environment = Environment(hub_url="http://hub:1", registry_url="http://registry:2", trusted_sources=True)
    found = SOURCES[source].weights(spec(repository, **given), environment, layout)
    assert found.fetch is not None
    options = arguments().parse_args(found.fetch.args)
    assert (options.allow_http, options.allow_private) == (True, True)
    if source == "huggingface":
        assert options.hub_url == "http://hub:1"
    if source == "ollama":
        assert options.registry_url == "http://registry:2"


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
    "HTTPS://10.0.0.1/m", "https://1.2.3/m", "https://example.com/m.tar.xz", "https://example.com/m.zip?x=1",
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


@pytest.mark.parametrize(
    "address", ["http://10.0.0.1:8080/m.gguf", "http://mirror/m.gguf", "https://a.internal/m.gguf"]
)
def test_an_operator_may_trust_a_mirror_inside_a_network(address: str) -> None:
    assert problems("url", address, Environment(trusted_sources=True)) == []
    assert [problem.code for problem in problems("url", address)] == ["address"]


@pytest.mark.parametrize(
    ("repository", "fields", "folder_holds"),
    [
        ("s3://models/qwen", {"file": "q4/m.gguf"}, "q4/m.gguf"),
        ("s3://models/qwen/q4/m.gguf", {}, "m.gguf"),
        ("s3://models/qwen/", {}, None),
        ("s3://models", {}, None),
    ],
)
def test_places_in_a_bucket(repository: str, fields: dict[str, Any], folder_holds: str | None) -> None:
    assert paths("s3", repository, **fields) == []
    assert weights("s3", repository, **fields).file == folder_holds


@pytest.mark.parametrize(
    "repository",
    ["models/qwen", "s3:/models", "s3://", "s3:///qwen", "s3://Models/x", "s3://m", "s3://a..b/x", "s3://10.0.0.1/x",
     "s3://-ab/x", "s3://ab-/x", "s3://a.-b/x", "s3://models/../x", "s3://models//x", "s3://models/a/./b",
     "s3://models/a b", "s3://models/$(x)", "https://models/x", "s3://user@models/x", "s3://models?x=1", "S3://models/x",
     "s3://models/-rf", "s3://models/%2e%2e/x"],
)  # fmt: skip
def test_places_that_are_none_in_a_bucket(repository: str) -> None:
    assert paths("s3", repository) == ["spec.model.repository"]


def test_the_same_place_at_another_endpoint_is_another_model() -> None:
    plain = weights("s3", "s3://models/qwen")
    other = weights("s3", "s3://models/qwen", env={"AWS_ENDPOINT_URL": "https://minio.example.com"})
    near = weights("s3", "s3://models/qwen", env={"AWS_REGION": "eu-central-1", "OTHER": "x"})
    assert plain.folder == near.folder != other.folder
    assert near.fetch is not None
    assert near.fetch.env == {"AWS_REGION": "eu-central-1"}


@pytest.mark.parametrize(
    ("env", "path"),
    [
        ({"AWS_ENDPOINT_URL": "https://minio.example.com:9000"}, "spec.engine.env.AWS_ENDPOINT_URL"),
        ({"AWS_ENDPOINT_URL": "http://minio.example.com"}, "spec.engine.env.AWS_ENDPOINT_URL"),
        ({"AWS_ENDPOINT_URL": "https://10.0.0.1"}, "spec.engine.env.AWS_ENDPOINT_URL"),
        ({"AWS_ENDPOINT_URL": "https://169.254.169.254"}, "spec.engine.env.AWS_ENDPOINT_URL"),
        ({"AWS_ENDPOINT_URL": "https://u:p@example.com"}, "spec.engine.env.AWS_ENDPOINT_URL"),
        ({"AWS_ENDPOINT_URL": "https://example.com/x?y"}, "spec.engine.env.AWS_ENDPOINT_URL"),
        ({"AWS_ENDPOINT_URL": "https://[::1"}, "spec.engine.env.AWS_ENDPOINT_URL"),
        ({"AWS_REGION": "eu central"}, "spec.engine.env.AWS_REGION"),
        ({"AWS_DEFAULT_REGION": "../x"}, "spec.engine.env.AWS_DEFAULT_REGION"),
    ],
)
def test_settings_of_a_bucket(env: dict[str, str], path: str) -> None:
    assert paths("s3", "s3://models/qwen", env=env) == [path]


def test_a_trusted_endpoint_of_buckets() -> None:
    env = {"AWS_ENDPOINT_URL": "http://minio.minio.svc:9000", "AWS_REGION": "us-east-1"}
    found = problems("s3", "s3://models/qwen", Environment(trusted_sources=True), env=env, tokenSecret="bucket_keys")
    assert found == []


def test_a_bucket_without_credentials_must_be_public() -> None:
    warned = warnings_of(problems("s3", "s3://models/qwen"))
    assert [problem.code for problem in warned] == ["no_credentials"]
    assert problems("s3", "s3://models/qwen", tokenSecret="keys") == []
    assert problems("s3", "s3://models/qwen", account="reader") == []


@pytest.mark.parametrize(
    ("repository", "name"),
    [("llama3.1:8b", "llama3.1:8b"), ("llama3.1", "llama3.1:latest"), ("acme/tiny:q4", "acme/tiny:q4")],
)
def test_models_of_the_registry(repository: str, name: str) -> None:
    assert paths("ollama", repository) == []
    found = weights("ollama", repository, "registry")
    assert (found.name, found.path) == (name, "/models/ollama")


@pytest.mark.parametrize(
    ("repository", "fields", "path"),
    [
        ("gpt-oss:120b-cloud", {}, "spec.model.repository"),
        ("gpt-oss:CLOUD", {}, "spec.model.repository"),
        ("llama3.1:8b", {"file": "x.gguf"}, "spec.model.file"),
        ("registry.example.com/a/b:c", {}, "spec.model.repository"),
        ("../a:b", {}, "spec.model.repository"),
        ("a/..:b", {}, "spec.model.repository"),
        ("a:b:c", {}, "spec.model.repository"),
        ("-a:b", {}, "spec.model.repository"),
        ("a@sha256:00", {}, "spec.model.repository"),
        ("a b", {}, "spec.model.repository"),
        ("", {}, "spec.model.repository"),
        ("a:", {}, "spec.model.repository"),
        ("x/llama\u0430", {}, "spec.model.repository"),
    ],
)
def test_models_that_are_none_of_the_registry(repository: str, fields: dict[str, Any], path: str) -> None:
    assert paths("ollama", repository, **fields) == [path]


def test_a_hub_model_in_a_registry_store_is_named_by_its_quantization() -> None:
    plain = weights("huggingface", "acme/tiny-GGUF", "registry")
    chosen = weights("huggingface", "acme/tiny-GGUF", "registry", file="Q8_0")
    assert (plain.name, chosen.name) == ("hf.co/acme/tiny-GGUF:Q4_K_M", "hf.co/acme/tiny-GGUF:Q8_0")
    assert plain.folder == chosen.folder == "/models/ollama"
    assert plain.file is None
    assert plain.key != chosen.key


@pytest.mark.parametrize("file", [None, "weights/m.gguf"])
def test_an_archive_at_an_address_is_unpacked(file: str | None) -> None:
    """Its folder is the model, or the named file in it."""
    found = weights("url", "https://example.com/m.tar.gz?x=1", file=file)
    assert found.fetch
    assert "--unpack" in found.fetch.args
    assert found.path == (f"{found.folder}/{file}" if file else found.folder)
    assert ("--file" in found.fetch.args) == (file is not None)
