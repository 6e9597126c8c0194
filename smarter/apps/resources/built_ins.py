"""Manifests that the platform has from the start, such as node types. Called at each start; safe to repeat."""

import json
from typing import Any

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.services import ensure_platform
from smarter.apps.resources.apply import apply_manifests
from smarter.apps.resources.models import Resource
from smarter.core.manifest import spec_hash
from smarter.kinds import KINDS


def ensure_built_ins() -> int:
    """Brings those that are missing or were changed to what this release says; how many those were."""
    account, user = ensure_platform()
    actor = Actor(user, account, "admin", is_platform_admin=True)
    rows = Resource.for_account(account).values_list("api_version", "kind", "name", "spec_hash")
    known = {(api_version, kind, name): stored for api_version, kind, name, stored in rows}
    wanted = [document for kind in KINDS.values() for document in kind.built_ins]
    due = [document for document in wanted if known.get(_key(document)) != spec_hash(document["spec"])]
    for document in due:
        apply_manifests(actor, json.dumps(document).encode())
    return len(due)


def _key(document: dict[str, Any]) -> tuple[str, str, str]:
    return (document["apiVersion"], document["kind"], document["metadata"]["name"])
