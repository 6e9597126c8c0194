"""Brings several files at once. `run` and `registry` call it."""

from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from smarter.fetch import store
from smarter.fetch.digest import Item
from smarter.fetch.errors import FetchError, Stopped
from smarter.fetch.transfer import Context, bring


def bring_all(items: list[Item], folder: Path, context: Context, parallel: int) -> list[dict[str, Any]]:
    """The files' entries for the marker, by path. A folder that filled its volume is removed."""
    _require_space(items, folder, context)
    context.progress.say("start", files=len(items), total=context.progress.total)
    try:
        return _at_once(items, folder, context, parallel)
    except FetchError as fault:
        if fault.reason == "disk_full":
            store.remove(folder)
        raise


def _require_space(items: list[Item], folder: Path, context: Context) -> None:
    known = [item.size for item in items if item.size is not None]
    if len(known) == len(items):
        context.progress.total = sum(known)
        store.require_space(folder.parent, sum(known) - store.used_bytes(folder))


def _at_once(items: list[Item], folder: Path, context: Context, parallel: int) -> list[dict[str, Any]]:
    """Largest first. The first fault, or a signal, stops the others."""
    ordered = sorted(items, key=lambda item: -(item.size or 0))
    pool = ThreadPoolExecutor(max_workers=parallel)
    try:
        futures = [pool.submit(bring, item, folder, context) for item in ordered]
        wait(futures, return_when=FIRST_EXCEPTION)
    except BaseException:
        # A signal: nobody waits for threads that may be listening to a silent server.
        context.stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    context.stop.set()
    pool.shutdown()
    faults = [fault for future in futures if (fault := future.exception())]
    for fault in faults:
        if not isinstance(fault, Stopped):
            raise fault
    return sorted((future.result() for future in futures), key=lambda entry: str(entry["path"]))
