"""A model's folder that comes as one archive, from a server of the web: whole, and nothing but plain files."""

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.fetch.conftest import WEIGHTS, Outcome
from tests.unit.fetch.server import Site

Fetch = Callable[..., Outcome]
FILES = {"model/config.json": b"{}", "model/weights/a.safetensors": WEIGHTS, "model/empty.txt": b""}


def packed(files: dict[str, bytes], mode: str = "w:gz", *extra: tarfile.TarInfo) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as tar:
        folder = tarfile.TarInfo("model")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for member in extra:
            tar.addfile(member)
    return stream.getvalue()


def bring(fetch: Fetch, site: Site, name: str, data: bytes, *options: str) -> Outcome:
    site.files[name] = data
    site.lfs.add(name)
    address = f"{site.url}/{name}"
    return fetch("--source", "url", "--repository", address, "--unpack", *options, hub=False)


def found(target: Path) -> dict[str, bytes]:
    paths = (path for path in target.rglob("*") if path.is_file() and not path.name.startswith(".smarter-"))
    return {path.relative_to(target).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.parametrize(("name", "mode"), [("m.tar.gz", "w:gz"), ("m.tar", "w"), ("m.tgz", "w:gz")])
def test_the_folder_arrives_without_the_archive(fetch: Fetch, site: Site, target: Path, name: str, mode: str) -> None:
    outcome = bring(fetch, site, name, packed(FILES, mode))
    assert (outcome.code, outcome.last["files"]) == (0, 3)
    assert found(target) == {name.removeprefix("model/"): data for name, data in FILES.items()}


def test_a_folder_stays_where_it_is_not_the_only_one(fetch: Fetch, site: Site, target: Path) -> None:
    files = {"a/config.json": b"{}", "b/config.json": b"{}"}
    assert bring(fetch, site, "m.tar", packed(files, "w")).code == 0
    assert found(target) == files


def test_a_complete_folder_is_left_alone(fetch: Fetch, site: Site, target: Path) -> None:
    assert bring(fetch, site, "m.tar.gz", packed(FILES)).code == 0
    asked = len(site.requests)
    assert bring(fetch, site, "m.tar.gz", packed(FILES)).code == 0
    assert len(site.requests) == asked


def test_the_file_that_the_manifest_names_must_be_there(fetch: Fetch, site: Site, target: Path) -> None:
    assert bring(fetch, site, "m.tar.gz", packed(FILES), "--file", "weights/a.safetensors").code == 0
    other = bring(fetch, site, "n.tar.gz", packed(FILES), "--file", "b.gguf", "--target", f"{target}-2")
    assert (other.code, other.last["reason"]) == (4, "not_found")


def link(kind: bytes, name: str, points_to: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, points_to
    return member


@pytest.mark.parametrize(
    "member",
    [
        link(tarfile.SYMTYPE, "model/link", "/etc/passwd"),
        link(tarfile.LNKTYPE, "model/link", "model/config.json"),
        link(tarfile.CHRTYPE, "model/device", ""),
        link(tarfile.FIFOTYPE, "model/pipe", ""),
        tarfile.TarInfo("../outside"),
        tarfile.TarInfo("/outside"),
        tarfile.TarInfo("model/../../outside"),
        tarfile.TarInfo("model/.smarter-complete"),
        tarfile.TarInfo("model/config.json"),
    ],
    ids=["symlink", "hardlink", "device", "pipe", "parent", "absolute", "inner parent", "marker", "twice"],
)
def test_what_is_no_plain_file_ends_the_fetch(fetch: Fetch, site: Site, target: Path, member: tarfile.TarInfo) -> None:
    outcome = bring(fetch, site, "m.tar", packed(FILES, "w", member))
    assert (outcome.code, outcome.last["reason"]) == (12, "bad_archive")
    assert not target.exists()
    assert not (target.parent.parent / "outside").exists()


@pytest.mark.parametrize(
    "data",
    [b"", b"no archive at all" * 100, packed(FILES)[:-500], packed(FILES, "w")[:5000], packed({}, "w")],
    ids=["empty", "other", "cut gzip", "cut tar", "no files"],
)
def test_a_broken_archive_ends_the_fetch(fetch: Fetch, site: Site, target: Path, data: bytes) -> None:
    outcome = bring(fetch, site, "m.tar.gz", data)
    assert (outcome.code, outcome.last["reason"]) == (12, "bad_archive")
    assert not target.exists()


def test_the_archive_is_checked_before_it_is_opened(fetch: Fetch, site: Site, target: Path) -> None:
    wrong = hashlib.sha256(b"other").hexdigest()
    outcome = bring(fetch, site, "m.tar.gz", packed(FILES), "--sha256", wrong)
    assert outcome.last["reason"] == "checksum_mismatch"
    assert not target.exists()


def test_an_archive_larger_than_the_volume(
    fetch: Fetch, site: Site, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is small while packed, as an archive of zeros is."""
    monkeypatch.setattr("smarter.fetch.store.free_bytes", lambda folder: 20_000_000)
    outcome = bring(fetch, site, "m.tar.gz", packed({"model/zeros": bytes(8_000_000)}))
    assert outcome.last["reason"] == "disk_full"
    assert not target.exists()
