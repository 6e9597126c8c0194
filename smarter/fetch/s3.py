"""A place in a bucket that speaks S3, as a list of files at the versions that were listed."""

import re
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import urlsplit
from xml.etree import ElementTree

from smarter.fetch.digest import Item
from smarter.fetch.errors import Broken, FetchError
from smarter.fetch.pace import repeated
from smarter.fetch.paths import is_safe_path, selected
from smarter.fetch.sigv4 import Signer, canonical
from smarter.fetch.transfer import Context
from smarter.fetch.web import MAX_JSON_BYTES, Answer, busy, parse, request
from smarter.fetch.xml import parsed, text_of

MAX_FILES = 10_000
MAX_PAGES = 1_000
_MAX_ERROR_BYTES = 64 * 1024
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\Z", re.ASCII)
_REGION = re.compile(r"[a-z0-9][a-z0-9-]{0,39}\Z", re.ASCII)
_ETAG = re.compile(r"[!#-~]{1,200}\Z", re.ASCII)
_DEFAULT_REGION = "us-east-1"
# Codes of a refusal that time may cure.
_SLOW = ("SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "OperationAborted")


@dataclass(frozen=True, slots=True)
class Bucket:
    """`prefix` is empty or ends in a slash. Without an `endpoint` it is one of Amazon's."""

    name: str
    prefix: str
    region: str = ""
    endpoint: str = ""

    @property
    def base(self) -> str:
        """Where keys begin. Buckets with dots would not fit the certificate as a part of the host name."""
        if self.endpoint:
            return f"{self.endpoint.rstrip('/')}/{self.name}"
        region = self.region or _DEFAULT_REGION
        zone = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        if "." in self.name:
            return f"https://s3.{region}.{zone}/{self.name}"
        return f"https://{self.name}.s3.{region}.{zone}"


def bucket_of(place: str, region: str, endpoint: str) -> Bucket:
    scheme, _, rest = place.partition("://")
    name, _, prefix = rest.partition("/")
    prefix = prefix.rstrip("/")
    if scheme != "s3" or not _BUCKET.match(name) or ".." in name or (prefix and not is_safe_path(prefix)):
        raise FetchError("bad_url", "a place in a bucket is written s3://bucket/prefix")
    if region and not _REGION.match(region):
        raise FetchError("bad_url", "AWS_REGION is not a region")
    if endpoint and urlsplit(endpoint).path not in ("", "/"):
        raise FetchError("bad_url", "AWS_ENDPOINT_URL is a host, without a path")
    return Bucket(name, f"{prefix}/" if prefix else "", region, endpoint)


def listed(bucket: Bucket, file: str | None, context: Context, signer: Signer) -> list[Item]:
    """`signer` is told the place and the region that turn out to be right."""
    if file is not None and not is_safe_path(file):
        raise FetchError("bad_path", "a file is a relative path below the prefix")
    bucket, first = _found(bucket, context, signer)
    items = {item.path: item for item in _pages(bucket, first, context)}
    wanted = selected(set(items), file, f"s3://{bucket.name}/{bucket.prefix}")
    return [items[path] for path in sorted(wanted)]


def _found(bucket: Bucket, context: Context, signer: Signer) -> tuple[Bucket, ElementTree.Element]:
    """The bucket in the region where it is, and the first page of its list. The first answer names the region."""
    _aim(bucket, context, signer)
    try:
        return bucket, _page(bucket, "", context)
    except _Elsewhere as hint:
        bucket = replace(bucket, region=hint.region)
    _aim(bucket, context, signer)
    try:
        return bucket, _page(bucket, "", context)
    except _Elsewhere:
        raise FetchError("bad_answer", f"the bucket {bucket.name} names ever other regions") from None


def _aim(bucket: Bucket, context: Context, signer: Signer) -> None:
    signer.origin = parse(bucket.base, context.rules).origin
    signer.region = bucket.region or _DEFAULT_REGION


class _Elsewhere(Exception):
    def __init__(self, region: str) -> None:
        super().__init__(region)
        self.region = region


def _page(bucket: Bucket, mark: str, context: Context) -> ElementTree.Element:
    query = {"list-type": "2", "prefix": bucket.prefix, **({"continuation-token": mark} if mark else {})}
    pairs = "&".join(f"{canonical(name)}={canonical(query[name])}" for name in sorted(query))
    base = bucket.base if bucket.base.count("/") > 2 else f"{bucket.base}/"
    return repeated(context.pace, context.stop, partial(_read_page, f"{base}?{pairs}", bucket, context))


def _read_page(url: str, bucket: Bucket, context: Context) -> ElementTree.Element:
    with request(url, context.rules, token=context.token, follow=False) as answer:
        region = answer.headers.get("x-amz-bucket-region", "")
        used = bucket.region or _DEFAULT_REGION
        if answer.status >= 300 and not bucket.endpoint and region != used and _REGION.match(region):
            raise _Elsewhere(region)
        context.require_success(answer, f"the list of s3://{bucket.name}/{bucket.prefix}")
        return parsed(answer.read_all(MAX_JSON_BYTES), answer.host)


def _pages(bucket: Bucket, page: ElementTree.Element, context: Context) -> list[Item]:
    items: list[Item] = []
    marks: set[str] = set()
    while True:
        entries = page.findall("Contents")
        items += [item for entry in entries if (item := _item(bucket, entry))]
        if len(items) > MAX_FILES:
            raise FetchError("bad_answer", f"the place in the bucket has more than {MAX_FILES} files")
        if text_of(page, "IsTruncated") != "true":
            return items
        mark = text_of(page, "NextContinuationToken")
        if not mark or not entries or mark in marks or len(marks) >= MAX_PAGES or len(mark) > 2000:
            raise FetchError("bad_answer", "the bucket's list of files does not come to an end")
        marks.add(mark)
        page = _page(bucket, mark, context)


def _item(bucket: Bucket, entry: ElementTree.Element) -> Item | None:
    """None for what stands for a folder."""
    key, size, etag = text_of(entry, "Key"), text_of(entry, "Size"), text_of(entry, "ETag")
    if key == bucket.prefix or key.endswith("/"):
        return None
    path = key.removeprefix(bucket.prefix)
    if not key.startswith(bucket.prefix) or not is_safe_path(path):
        raise FetchError("bad_answer", "the bucket lists a file with an unsafe name")
    if not size.isascii() or not size.isdigit() or len(size) > 18:
        raise FetchError("bad_answer", "the bucket lists a file without a size")
    # Some services leave the quotes away in lists, and have them in the answers to which a version is compared.
    bare = etag.strip('"')
    version = f'"{bare}"' if _ETAG.match(bare) else None
    return Item(path, f"{bucket.base}/{canonical(key, keep='/')}", int(size), etag=version)


def judge(answer: Answer, what: str, keys: str) -> None:
    """Raises for anything but success. `keys` says what was used to ask, for the last words."""
    if 200 <= answer.status < 300:
        return
    code = _code(answer)
    again = busy(answer)
    if again or code in _SLOW:
        raise again or Broken("unreachable", f"{answer.host} answered {code}")
    if code == "NoSuchBucket":
        raise FetchError("not_found", f"there is no such bucket on {answer.host}")
    if answer.status in (404, 410):
        raise FetchError("not_found", f"{what} does not exist on {answer.host}")
    if code in ("ExpiredToken", "RequestTimeTooSkewed", "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken"):
        raise FetchError("unauthorized", f"{answer.host} does not accept {keys} ({code})")
    if answer.status in (401, 403):
        raise FetchError("unauthorized", f"{answer.host} refuses {what} ({answer.status}) to {keys}")
    raise FetchError("bad_answer", f"{answer.host} answered {answer.status} {code} for {what}".replace("  ", " "))


def _code(answer: Answer) -> str:
    """The one word for a refusal, empty where the answer has none."""
    try:
        found = text_of(parsed(answer.read_all(_MAX_ERROR_BYTES), answer.host), "Code")
    except (FetchError, Broken):
        return ""
    return found if found.isascii() and found.isalnum() and len(found) < 60 else ""
