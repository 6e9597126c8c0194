"""Who an object belongs to: the names and labels that every object of one manifest shares."""

from dataclasses import dataclass
from typing import Any

from smarter.core.naming import namespace, object_name
from smarter.core.objects import ACCOUNT_LABEL, MANAGED_BY, MANAGED_BY_LABEL, OWNER_UID_LABEL

NAME_LABEL = "smarter.sh/name"


@dataclass(frozen=True, slots=True)
class Identity:
    """`name` is the name of the main objects in the cluster, `title` the name that the user gave the manifest."""

    name: str
    namespace: str
    title: str
    owner_uid: str
    account_number: str

    def labels(self) -> dict[str, str]:
        return {
            MANAGED_BY_LABEL: MANAGED_BY,
            ACCOUNT_LABEL: self.account_number,
            NAME_LABEL: self.title,
            OWNER_UID_LABEL: self.owner_uid,
        }

    def selector(self) -> dict[str, str]:
        """Of the pods. It can never change on a Deployment, so it holds the identity alone."""
        return {OWNER_UID_LABEL: self.owner_uid}

    def metadata(self, name: str | None = None) -> dict[str, Any]:
        return {"name": name or self.name, "namespace": self.namespace, "labels": self.labels()}


def identity(prefix: str, title: str, account_number: str, account_uid: str, owner_uid: str) -> Identity:
    return Identity(
        name=object_name(prefix, title, account_uid, owner_uid),
        namespace=namespace(account_number),
        title=title,
        owner_uid=owner_uid,
        account_number=account_number,
    )
