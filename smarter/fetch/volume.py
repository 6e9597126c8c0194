"""The `pvc` source: nothing is brought, the volume must already hold the model."""

from pathlib import Path

from smarter.fetch.errors import FetchError
from smarter.fetch.paths import is_safe_path


def require_present(mount: Path, repository: str, file: str | None) -> Path:
    """The model's place below the mount. Symbolic links may lead anywhere inside the mount and nowhere else."""
    for part in (repository, file):
        if part is not None and not is_safe_path(part):
            raise FetchError("bad_path", "a path within the volume is relative and has no '..'")
    root = mount.resolve()
    place = root / repository / file if file else root / repository
    try:
        resolved = place.resolve(strict=True)
    except FileNotFoundError:
        raise FetchError("not_found", "the volume has nothing at this path") from None
    except (OSError, RuntimeError):
        raise FetchError("bad_path", "this path cannot be read") from None
    if resolved != root and root not in resolved.parents:
        raise FetchError("bad_path", "this path leads out of the volume")
    if resolved.is_dir() and not any(resolved.iterdir()):
        raise FetchError("not_found", "the folder at this path is empty")
    return resolved
