"""The volumes of pods as folders of this machine. `pod.py` prepares them, `node.py` removes what no claim holds.

<folder>/claims/<uid of the claim>/       a PersistentVolumeClaim, as long as it exists
<folder>/pods/<uid of the pod>/volumes/   emptyDir, Secret and ConfigMap, as long as the pod exists
<folder>/pods/<uid of the pod>/logs/      what its containers wrote
"""

import base64
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from smarter.cluster.processes.launch import Lookup, Mount, RefusedStart
from smarter.core.objects import KubernetesObject


def pod_folder(folder: Path, uid: str) -> Path:
    return folder / "pods" / uid


def claim_folder(folder: Path, uid: str) -> Path:
    return folder / "claims" / uid


def prepare(folder: Path, pod: KubernetesObject, lookup: Lookup) -> dict[str, Path]:
    """The folder of each volume, made where it is missing. Raises RefusedStart."""
    return {volume["name"]: _folder_of(folder, pod, volume, lookup) for volume in pod["spec"].get("volumes") or ()}


def mounts_of(container: Mapping[str, Any], volumes: Mapping[str, Path]) -> tuple[Mount, ...]:
    return tuple(
        Mount(mount["mountPath"], _below(volumes[mount["name"]], mount.get("subPath", "")))
        for mount in container.get("volumeMounts") or ()
    )


def remove_pod(folder: Path, uid: str) -> None:
    shutil.rmtree(pod_folder(folder, uid), ignore_errors=True)


def remove_others(folder: Path, kind: str, kept: Iterable[str]) -> None:
    """`kind` is `pods` or `claims`."""
    uids = set(kept)
    for found in (folder / kind).glob("*"):
        if found.name not in uids:
            shutil.rmtree(found, ignore_errors=True)


def _folder_of(folder: Path, pod: KubernetesObject, volume: Mapping[str, Any], lookup: Lookup) -> Path:
    own = pod_folder(folder, pod["metadata"]["uid"]) / "volumes" / volume["name"]
    if "persistentVolumeClaim" in volume:
        name = volume["persistentVolumeClaim"]["claimName"]
        claim = lookup("PersistentVolumeClaim", name)
        if claim is None:
            raise RefusedStart("CreateContainerConfigError", f'persistentvolumeclaim "{name}" not found')
        own = claim_folder(folder, claim["metadata"]["uid"])
    elif "secret" in volume:
        _write_keys(own, "Secret", volume["secret"]["secretName"], volume["secret"], lookup)
    elif "configMap" in volume:
        _write_keys(own, "ConfigMap", volume["configMap"]["name"], volume["configMap"], lookup)
    elif "emptyDir" not in volume:
        raise RefusedStart("CreateContainerConfigError", f"the kind of volume {volume['name']} is not offered here")
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    return own


def _write_keys(target: Path, kind: str, name: str, source: Mapping[str, Any], lookup: Lookup) -> None:
    found = lookup(kind, name)
    if found is None:
        if source.get("optional"):
            return
        raise RefusedStart("CreateContainerConfigError", f'{kind.lower()} "{name}" not found')
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = found.get("data") or {}
    paths = {item["key"]: item["path"] for item in source.get("items") or ()} or {key: key for key in data}
    for key, path in paths.items():
        file = _below(target, path)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_bytes(base64.b64decode(data[key]) if kind == "Secret" else data[key].encode())


def _below(folder: Path, path: str) -> Path:
    """A subfolder that the pod names; it may not lead out."""
    parts = [part for part in path.split("/") if part]
    if ".." in parts:
        raise RefusedStart("CreateContainerConfigError", "a path of a volume must not contain '..'")
    return folder.joinpath(*parts)
