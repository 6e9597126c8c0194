"""Clusters that workloads run on, and what Smarter knows of its namespaces in them."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from smarter.apps.accounts.models import Account, User
from smarter.apps.accounts.rows import ManifestRow
from smarter.apps.accounts.scope import AccountScope
from smarter.apps.secrets.models import Secret


class Cluster(ManifestRow):
    """`features` is what the cluster was found to have; what its owner declares is in `spec`."""

    class Type(models.TextChoices):
        KUBERNETES = "kubernetes"
        SIMULATED = "simulated"

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="clusters")
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=50)
    type = models.CharField(max_length=10, choices=Type.choices)
    kubeconfig_secret = models.ForeignKey(
        Secret, null=True, blank=True, on_delete=models.PROTECT, related_name="clusters"
    )
    spec = models.JSONField(default=dict)
    is_default = models.BooleanField(default=False)

    features = models.JSONField(default=list, blank=True)
    version = models.CharField(max_length=64, blank=True)
    nodes = models.IntegerField(null=True, blank=True)
    gpus = models.IntegerField(null=True, blank=True)
    node_labels = models.JSONField(default=list, blank=True)
    """What tells the types of its nodes apart: each set of labels once, without those of one node alone."""
    reachable = models.BooleanField(null=True, blank=True)
    message = models.TextField(blank=True)
    last_checked_at = models.DateTimeField(null=True, blank=True)

    all_accounts = models.Manager()
    for_account = AccountScope()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["account", "name"], name="cluster_name"),
            models.UniqueConstraint(fields=["account"], condition=Q(is_default=True), name="cluster_one_default"),
            models.CheckConstraint(
                condition=Q(type="simulated", kubeconfig_secret=None)
                | Q(type="kubernetes", kubeconfig_secret__isnull=False),
                name="cluster_credentials",
            ),
        ]


class AccountNamespace(models.Model):
    """That an account's namespace was prepared in a cluster, and with what: another hash means preparing it again."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="namespaces")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="+")
    bootstrap_hash = models.CharField(max_length=64)
    checked_at = models.DateTimeField(default=timezone.now)

    all_accounts = models.Manager()
    for_account = AccountScope()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "account"], name="namespace_once")]
