"""Manifests of every kind in one table, their state, what they refer to, and what happened to them.

Read through `queries.py`, written through `apply.py`, `lifecycle.py` and, for the state, the reconciler.
"""

import uuid

from django.db import models
from django.db.models import Q, Value
from django.utils import timezone

from smarter.apps.accounts.scope import AccountScope

_NOTHING = Value({}, models.JSONField())
"""Also as the database's own default, for workers of the release before that still insert rows during an upgrade."""


class AccountQuota(models.Model):
    """The row that serialises what one account writes: every apply locks it. It holds the head of the account's audit
    chain, so that a chain never forks."""

    account = models.OneToOneField("accounts.Account", on_delete=models.PROTECT, primary_key=True, related_name="+")
    audit_seq = models.BigIntegerField(default=0)
    audit_hash = models.CharField(max_length=64, default="", blank=True)

    objects = models.Manager()


class Resource(models.Model):
    """One manifest. A resource that is being deleted keeps its name until its objects are gone from the cluster.

    `spec` is as declared, without defaults, so that what is read can be applied again without a change."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    account = models.ForeignKey("accounts.Account", on_delete=models.PROTECT, related_name="+")
    owner = models.ForeignKey("accounts.User", on_delete=models.SET_NULL, null=True, related_name="+")
    api_group = models.CharField(max_length=63)
    api_version = models.CharField(max_length=80)
    """Group and version, as in the manifest."""
    kind = models.CharField(max_length=63)
    name = models.CharField(max_length=63)
    metadata = models.JSONField(default=dict)
    spec = models.JSONField(default=dict)
    applied_text = models.TextField(null=True)
    """The document as last sent; None for kinds that carry a secret value."""
    spec_hash = models.CharField(max_length=64)
    generation = models.BigIntegerField(default=1)
    """Rises when the spec or `deployed` changes."""
    resource_version = models.BigIntegerField()
    """From one sequence of the database, with every change."""
    deployed = models.BooleanField(default=False)
    deployed_at = models.DateTimeField(null=True)
    cluster = models.ForeignKey("clusters.Cluster", on_delete=models.PROTECT, null=True, related_name="+")
    placed_on = models.CharField(max_length=63, default="", blank=True)
    """The node type that it was rendered for last while deployed; the reconciler writes it."""
    created = models.DateTimeField(default=timezone.now)
    modified = models.DateTimeField(default=timezone.now)
    deleting_at = models.DateTimeField(null=True)

    all_accounts = models.Manager()
    for_account = AccountScope()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "api_group", "kind", "name"], name="resource_name"),
            models.CheckConstraint(condition=Q(generation__gte=1), name="resource_generation"),
        ]
        indexes = [
            models.Index(fields=["cluster"], name="resource_by_cluster", condition=Q(cluster__isnull=False)),
            models.Index(fields=["account", "kind", "modified"], name="resource_by_modified"),
        ]

    @property
    def kind_key(self) -> tuple[str, str]:
        return (self.api_version, self.kind)


class ResourceState(models.Model):
    """What the reconciler knows. Apart from the resource, so that a status never touches the spec or its version."""

    resource = models.OneToOneField(Resource, on_delete=models.CASCADE, primary_key=True, related_name="state")
    status = models.JSONField(default=dict)
    phase = models.CharField(max_length=32, default="inactive")
    ready = models.BooleanField(default=False)
    observed_generation = models.BigIntegerField(default=0)
    next_check_at = models.DateTimeField(null=True)
    """When the reconciler looks again; None: nothing is to be done. This is the queue."""
    lease_owner = models.CharField(max_length=128, default="", blank=True)
    lease_token = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    fail_count = models.IntegerField(default=0)
    touched = models.BooleanField(default=False)
    """Whether anything of it may exist on a cluster. Set before the first write to one."""
    last_error = models.CharField(max_length=1024, default="", blank=True)
    in_transition = models.BooleanField(default=False)
    """Whether the cluster should be looked at fast because of it."""
    fingerprint = models.JSONField(default=dict)
    """Uid and version of each object after the last apply; another value on the cluster means drift."""
    pins = models.JSONField(default=dict, db_default=_NOTHING)
    """`launch`, the time of the launch that it was resolved for, and `values`: what `Kind.pins` answered then."""
    rollout = models.JSONField(default=dict, db_default=_NOTHING)
    """How pods were replaced last, and why: `template` (a hash), `surge`, `reason`, `message`."""
    last_good = models.JSONField(default=dict, db_default=_NOTHING)
    """The last revision that was ready: `generation`, `apiVersion`, `metadata`, `spec`, `pins`, `placedOn`."""
    restored = models.JSONField(default=dict, db_default=_NOTHING)
    """The generation that did not start, and what was done: `generation`, `from` (the one that was put back, 0 where
    none could be), `reason`, `message`."""
    seen_digest = models.CharField(max_length=64, default="", blank=True)
    """Of the versions of all objects at the last observation; the same again means nothing to do."""

    objects = models.Manager()

    class Meta:
        indexes = [
            models.Index(fields=["next_check_at"], name="resourcestate_due", condition=Q(next_check_at__isnull=False))
        ]


class Reference(models.Model):
    """One field of one manifest that names another, resolved. It is what keeps a thing in use from being deleted."""

    from_resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="references")
    to_resource = models.ForeignKey(Resource, on_delete=models.PROTECT, null=True, related_name="dependents")
    to_secret = models.ForeignKey("secrets.Secret", on_delete=models.PROTECT, null=True, related_name="dependents")
    field = models.CharField(max_length=255)

    objects = models.Manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["from_resource", "field"], name="reference_field"),
            models.CheckConstraint(
                condition=Q(to_resource__isnull=True, to_secret__isnull=False)
                | Q(to_resource__isnull=False, to_secret__isnull=True),
                name="reference_one_target",
            ),
        ]


class Hostname(models.Model):
    """A host name that one resource publishes. Unique over all accounts, so nobody takes another's."""

    hostname = models.CharField(max_length=253, unique=True)
    account = models.ForeignKey("accounts.Account", on_delete=models.PROTECT, related_name="+")
    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="hostnames")
    created = models.DateTimeField(default=timezone.now)

    all_accounts = models.Manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(hostname__regex=r"^[a-z0-9.-]{1,253}$"), name="hostname_lower_case")
        ]


class Event(models.Model):
    """Something that happened to a resource. It remembers the resource by value, and so outlives it."""

    class Type(models.TextChoices):
        NORMAL = "Normal"
        WARNING = "Warning"

    account = models.ForeignKey("accounts.Account", on_delete=models.CASCADE, related_name="+")
    resource_uid = models.UUIDField()
    api_version = models.CharField(max_length=80)
    kind = models.CharField(max_length=63)
    name = models.CharField(max_length=63)
    type = models.CharField(max_length=8, choices=Type.choices, default=Type.NORMAL)
    reason = models.CharField(max_length=64)
    message = models.CharField(max_length=1024, default="", blank=True)
    at = models.DateTimeField(default=timezone.now)

    all_accounts = models.Manager()
    for_account = AccountScope()

    class Meta:
        indexes = [models.Index(fields=["account", "kind", "name", "-at"], name="event_by_name")]


class AuditEvent(models.Model):
    """Who did what. The database refuses to change, delete or truncate rows, and each row carries the hash of the one
    before it in its account, so that a row taken out by other means is missed."""

    account = models.ForeignKey("accounts.Account", on_delete=models.PROTECT, related_name="+")
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    key_id = models.CharField(max_length=12, default="", blank=True)
    verb = models.CharField(max_length=16)
    kind = models.CharField(max_length=63)
    name = models.CharField(max_length=63)
    uid = models.CharField(max_length=36, default="", blank=True)
    request_id = models.CharField(max_length=64, default="", blank=True)
    outcome = models.CharField(max_length=16)
    before_hash = models.CharField(max_length=64, default="", blank=True)
    after_hash = models.CharField(max_length=64, default="", blank=True)
    prev_hash = models.CharField(max_length=64, default="", blank=True)
    hash = models.CharField(max_length=64)

    all_accounts = models.Manager()
    for_account = AccountScope()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "seq"], name="audit_chain")]
