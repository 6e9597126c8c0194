"""Weights from buckets: against a server that is not ours and checks signatures, and against one of ours that lies."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from smarter.fetch.errors import FetchError
from smarter.fetch.s3 import Bucket, bucket_of
from smarter.fetch.s3_keys import signer_of
from smarter.fetch.sigv4 import Keys, signed
from smarter.fetch.transfer import Context
from smarter.fetch.web import Rules, parse
from tests.unit.fetch.bucket_site import BucketSite, serving_bucket_site
from tests.unit.fetch.buckets import KEY_ID, SECRET_KEY, Buckets, serving_buckets
from tests.unit.fetch.conftest import WEIGHTS, Outcome

Fetch = Callable[..., Outcome]
KEYS = f"{KEY_ID}:{SECRET_KEY}"
FILES = {
    "qwen/config.json": b"{}",
    "qwen/model.safetensors": WEIGHTS,
    "qwen/tok enizer/vo+cab ü.txt": b"a",
    "qwen/pytorch_model.bin": b"the same again",
    "qwen-other/config.json": b"another model",
}


@pytest.fixture
def buckets(tmp_path: Path) -> Iterator[Buckets]:
    with serving_buckets(tmp_path / "buckets") as served:
        served.put("models", FILES)
        yield served


@pytest.fixture
def site() -> Iterator[BucketSite]:
    files = {"qwen/config.json": b"{}", "qwen/model.safetensors": WEIGHTS}
    with serving_bucket_site(BucketSite(files)) as served:
        yield served


@pytest.fixture
def bring(fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> Fetch:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "S3_KEYS"):
        monkeypatch.delenv(name, raising=False)

    def run(url: str, place: str = "s3://models/qwen", *extra: str, **env: str) -> Outcome:
        return fetch("--source", "s3", "--repository", place, *extra, hub=False, AWS_ENDPOINT_URL=url, **env)

    return run


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_signature_is_the_one_of_the_published_example() -> None:
    """The first example of the documentation of the signature: GET of a range of one object."""
    address = parse("https://examplebucket.s3.amazonaws.com/test.txt", Rules())
    keys = Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    found = signed(address, keys, "us-east-1", {"range": "bytes=0-9"}, 1369353600.0)
    assert found["x-amz-date"] == "20130524T000000Z"
    assert found["Authorization"].endswith("f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")


def test_a_prefix_arrives_whole(bring: Fetch, buckets: Buckets, target: Path) -> None:
    outcome = bring(buckets.url, S3_KEYS=KEYS)
    assert outcome.code == 0, outcome.text
    wanted = {"config.json", "model.safetensors", "tok enizer/vo+cab ü.txt"}
    assert names(target) == wanted | {".smarter-complete"}
    for name in wanted:
        assert (target / name).read_bytes() == FILES[f"qwen/{name}"]
    marker = json.loads((target / ".smarter-complete").read_text())
    assert {entry["path"]: entry["sha256"] for entry in marker["files"]} == {
        name: hashlib.sha256(FILES[f"qwen/{name}"]).hexdigest() for name in wanted
    }
    assert SECRET_KEY not in outcome.text + json.dumps(marker)


def test_one_file_and_its_parts(bring: Fetch, buckets: Buckets, target: Path) -> None:
    parts = {f"gguf/big-0000{number}-of-00002.gguf": b"part %d" % number for number in (1, 2)}
    buckets.put("models", parts)
    outcome = bring(buckets.url, "s3://models/gguf", "--file", "big-00001-of-00002.gguf", S3_KEYS=KEYS)
    assert outcome.code == 0, outcome.text
    assert names(target) == {"big-00001-of-00002.gguf", "big-00002-of-00002.gguf", ".smarter-complete"}


def test_a_public_bucket_needs_no_keys(bring: Fetch, tmp_path: Path, target: Path) -> None:
    with serving_buckets(tmp_path / "open", public=True) as served:
        served.put("models", FILES)
        assert bring(served.url).code == 0
    assert (target / "model.safetensors").read_bytes() == WEIGHTS


def test_wrong_keys_are_named_and_not_shown(bring: Fetch, buckets: Buckets) -> None:
    outcome = bring(buckets.url, S3_KEYS=f"{KEY_ID}:canary_secret")
    assert (outcome.code, outcome.last["reason"]) == (3, "unauthorized")
    assert "the keys of the Secret" in outcome.last["message"]
    assert "canary_secret" not in outcome.text


@pytest.mark.parametrize("keys", ["no-colon", "a b:c", ":x", "a:"])
def test_malformed_keys(bring: Fetch, site: BucketSite, keys: str) -> None:
    outcome = bring(site.url, S3_KEYS=keys)
    assert (outcome.code, outcome.last["reason"]) == (3, "unauthorized")
    assert "ACCESS_KEY_ID:SECRET_ACCESS_KEY" in outcome.last["message"]
    assert site.requests == []


@pytest.mark.parametrize(("place", "extra"), [("s3://absent/qwen", ()), ("s3://models/absent", ()),
                                              ("s3://models/qwen", ("--file", "absent.gguf"))])  # fmt: skip
def test_what_does_not_exist(bring: Fetch, buckets: Buckets, place: str, extra: tuple[str, ...]) -> None:
    outcome = bring(buckets.url, place, *extra, S3_KEYS=KEYS)
    assert (outcome.code, outcome.last["reason"]) == (4, "not_found"), outcome.text


def test_a_list_comes_in_pages(bring: Fetch, site: BucketSite, target: Path) -> None:
    site.files.update({f"qwen/{number:03}.json": b"%d" % number for number in range(25)})
    site.page_size = 4
    assert bring(site.url).code == 0
    assert len(names(target)) == 28
    assert sum("list-type=2" in path for path in site.requests) == 7


def test_a_cut_object_is_resumed_at_the_version_that_was_listed(bring: Fetch, site: BucketSite, target: Path) -> None:
    site.cuts = [1_500_000, 700_000]
    assert bring(site.url).code == 0
    assert (target / "model.safetensors").read_bytes() == WEIGHTS
    ranges = [headers.get("Range") for headers in site.gets("model.safetensors")]
    assert ranges == [None, "bytes=1500000-", "bytes=2200000-"]
    assert {headers["If-Match"] for headers in site.gets("model.safetensors")} == {site.etag(WEIGHTS)}


def test_finished_objects_of_an_earlier_process_are_kept(bring: Fetch, site: BucketSite, target: Path) -> None:
    site.deny = "config.json"
    assert bring(site.url, "s3://models/qwen", "--parallel", "1").code == 3
    site.deny = ""
    assert bring(site.url).code == 0
    assert len(site.gets("model.safetensors")) == 1
    assert (target / "model.safetensors").read_bytes() == WEIGHTS


def test_an_object_that_changed_meanwhile(bring: Fetch, site: BucketSite, target: Path) -> None:
    site.swap = {"qwen/model.safetensors": WEIGHTS[::-1]}
    outcome = bring(site.url)
    assert (outcome.code, outcome.last["reason"]) == (5, "checksum_mismatch")
    assert not target.exists()


@pytest.mark.parametrize("encryption", ["", "AES256"])
def test_a_damaged_object_is_named(bring: Fetch, site: BucketSite, target: Path, encryption: str) -> None:
    site.damaged, site.encryption = {"qwen/model.safetensors"}, encryption
    outcome = bring(site.url)
    assert (outcome.code, outcome.last["reason"]) == (5, "checksum_mismatch")
    assert not target.exists()


def test_an_etag_under_a_key_service_is_no_checksum(bring: Fetch, site: BucketSite, target: Path) -> None:
    site.encryption = "aws:kms"
    site.etags = {"qwen/model.safetensors": f'"{"0" * 32}"'}
    assert bring(site.url).code == 0
    assert (target / "model.safetensors").read_bytes() == WEIGHTS


def test_a_checksum_that_the_bucket_tells(bring: Fetch, site: BucketSite) -> None:
    site.etags = {"qwen/model.safetensors": '"abc-2"'}
    site.checksum = b"of something else"
    outcome = bring(site.url)
    assert (outcome.code, outcome.last["reason"]) == (5, "checksum_mismatch")


def test_a_lying_size(bring: Fetch, site: BucketSite) -> None:
    site.sizes = {"qwen/config.json": 5}
    outcome = bring(site.url)
    assert (outcome.code, outcome.last["reason"]) == (5, "checksum_mismatch")


@pytest.mark.parametrize(
    "key", ["qwen/../../etc/passwd", "qwen//x", "qwen/./x", "qwen/a\\b", "qwen/.smarter-complete", "other/x", "/etc/x"]
)
def test_a_bucket_that_lists_dangerous_names(bring: Fetch, site: BucketSite, target: Path, key: str) -> None:
    site.files[key] = b"x"
    site.filters = False
    outcome = bring(site.url)
    assert (outcome.code, outcome.last["reason"]) == (10, "bad_answer")
    assert not target.exists()


@pytest.mark.parametrize("way", ["same_mark", "empty_pages", "no_mark", "new_marks"])
def test_a_list_without_an_end(bring: Fetch, site: BucketSite, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr("smarter.fetch.s3.MAX_FILES", 50)
    site.endless = way
    outcome = bring(site.url)
    assert (outcome.code, outcome.last["reason"]) == (10, "bad_answer")
    assert len(site.requests) < 60


@pytest.mark.parametrize(
    "body", [b"", b"<x", b"{}", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', b"<ListBucketResult/>", b"\xff\xfe"]
)
def test_an_answer_that_is_none(bring: Fetch, site: BucketSite, body: bytes) -> None:
    site.body = body
    assert bring(site.url).last["reason"] in ("bad_answer", "not_found")


@pytest.mark.parametrize("etag", ["", '"a b"', "x" * 300])
def test_a_list_without_versions_is_still_checked_by_size(
    bring: Fetch, site: BucketSite, target: Path, etag: str
) -> None:
    site.etags = {"qwen/model.safetensors": etag or " "}
    site.cuts = [1_500_000]
    assert bring(site.url).code == 0
    assert (target / "model.safetensors").read_bytes() == WEIGHTS


def test_a_slow_down_is_waited_out_and_named(bring: Fetch, site: BucketSite) -> None:
    site.statuses = [(503, "SlowDown"), (429, "")]
    assert bring(site.url).code == 0


def test_too_many_requests_for_good(bring: Fetch, site: BucketSite) -> None:
    site.statuses = [(429, "")] * 10
    outcome = bring(site.url)
    assert (outcome.code, outcome.last["reason"]) == (7, "rate_limited")
    assert "gave up after 4 attempts" in outcome.last["message"]


def test_without_leave_neither_http_nor_a_private_endpoint(fetch: Fetch, site: BucketSite) -> None:
    arguments = ("--source", "s3", "--repository", "s3://models/qwen")
    plain = fetch(*arguments, hub=False, local=False, AWS_ENDPOINT_URL=site.url)
    private = fetch(*arguments, hub=False, local=False, AWS_ENDPOINT_URL="https://127.0.0.1:1")
    assert [plain.last["reason"], private.last["reason"]] == ["bad_url", "forbidden_address"]
    assert site.requests == []


def test_the_role_of_a_service_account(bring: Fetch, site: BucketSite, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("web-identity-canary\n")
    site.wants_session = "session-of-the-role"
    role = {"AWS_ROLE_ARN": "arn:aws:iam::1:role/reader", "AWS_WEB_IDENTITY_TOKEN_FILE": str(token)}
    outcome = bring(site.url, AWS_ENDPOINT_URL_STS=site.url, AWS_REGION="eu-central-1", **role)
    assert outcome.code == 0, outcome.text
    assert site.forms == [{
        "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": "arn:aws:iam::1:role/reader",
        "RoleSessionName": "smarter-fetch", "WebIdentityToken": "web-identity-canary",
    }]  # fmt: skip
    assert "/eu-central-1/s3/aws4_request" in site.gets("config.json")[0]["Authorization"]
    assert "canary" not in outcome.text


def test_a_role_that_is_refused(bring: Fetch, site: BucketSite, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("x")
    site.refuses_role = True
    role = {"AWS_ROLE_ARN": "arn:aws:iam::1:role/reader", "AWS_WEB_IDENTITY_TOKEN_FILE": str(token)}
    outcome = bring(site.url, AWS_ENDPOINT_URL_STS=site.url, **role)
    assert (outcome.code, outcome.last["reason"]) == (3, "unauthorized")
    assert "the role" in outcome.last["message"]


@pytest.mark.parametrize(
    ("bucket", "base"),
    [
        (Bucket("models", "", ""), "https://models.s3.us-east-1.amazonaws.com"),
        (Bucket("models", "", "eu-central-1"), "https://models.s3.eu-central-1.amazonaws.com"),
        (Bucket("my.models", "", "eu-west-1"), "https://s3.eu-west-1.amazonaws.com/my.models"),
        (Bucket("models", "", "cn-north-1"), "https://models.s3.cn-north-1.amazonaws.com.cn"),
        (Bucket("models", "", "", "https://minio.example.com/"), "https://minio.example.com/models"),
    ],
)
def test_where_a_bucket_is(bucket: Bucket, base: str) -> None:
    assert bucket.base == base


@pytest.mark.parametrize(
    ("place", "region", "endpoint"),
    [("s3://m", "", ""), ("s3://a..b/x", "", ""), ("s3://models/../x", "", ""), ("https://models", "", ""),
     ("s3://models", "a.evil.example/", ""), ("s3://models", "", "https://e.example/path"), ("s3://Models", "", "")],
)  # fmt: skip
def test_places_that_are_refused(place: str, region: str, endpoint: str) -> None:
    with pytest.raises(FetchError):
        bucket_of(place, region, endpoint)


def test_keys_are_never_in_a_repr() -> None:
    context = Context(Rules(), None, None, "S3_KEYS", secret="AKIA:canary")  # type: ignore[arg-type] # not used
    signer = signer_of("AKIA:canary", {}, context)
    assert "canary" not in repr(signer) + repr(context) + repr(signer.keys)
