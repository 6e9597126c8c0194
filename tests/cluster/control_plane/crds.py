"""CRDs of other projects: copied once from their Go modules into the cache, then applied by `up`."""

import json
import shutil
from pathlib import Path

from tests.cluster.control_plane import gomodules, versions
from tests.cluster.control_plane.api import Api
from tests.cluster.control_plane.versions import ControlPlaneError

LIST = versions.HERE / "crds" / "list.json"


def folder(version: str) -> Path:
    return versions.cache_of(version) / "crds"


def stamp() -> str:
    """What the cache must have been filled from; another list or another version fills it again."""
    return json.dumps(
        {"list": json.loads(LIST.read_text()), "versions": versions.required_versions("crds")}, sort_keys=True
    )


def are_cached(version: str) -> bool:
    path = folder(version) / "stamp.txt"
    return path.exists() and path.read_text() == stamp()


def fill_cache(go: str, version: str) -> None:
    if are_cached(version):
        return
    target = folder(version)
    partial = target.with_name("crds.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    pinned = versions.required_versions("crds")
    for entry in json.loads(LIST.read_text()):
        module = gomodules.download(go, entry["module"], pinned[entry["module"]], versions.HERE / "crds")
        files = sorted((Path(module["Dir"]) / entry["folder"]).glob("*.yaml"))
        if not files:
            raise ControlPlaneError(f"{entry['module']} has no CRDs in {entry['folder']}")
        for path in files:
            (partial / path.name).write_bytes(path.read_bytes())
    (partial / "stamp.txt").write_text(stamp())
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)


def groups() -> list[str]:
    """API groups and versions that must be served before kwok may start, because a stage or a test names them."""
    return [group for entry in json.loads(LIST.read_text()) for group in entry["groups"]]


def all_served(api: Api) -> bool:
    """kwok ends at start when a stage names a kind that is not yet in the OpenAPI of the server."""
    return {f"apis/{group}" for group in groups()} <= set(api.get("/openapi/v3")["paths"])
