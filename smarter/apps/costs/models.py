"""The ledger: who used which share of which node, from when to when, at which price. Money is a view of it."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, DecimalRangeField, RangeOperators
from django.db import models
from django.db.models import F, Func, Q

from smarter.apps.accounts.scope import AccountScope


class _PodRange(Func):
    template = "numrange(hashtextextended(%(expressions)s, 0), hashtextextended(%(expressions)s, 0), '[]')"
    output_field = DecimalRangeField()


class UsageInterval(models.Model):
    """One pod, from its start to its end by the pod's own timestamps. `period` has no upper end while the pod runs.

    The resource is remembered by uid and name, not by a foreign key: the ledger outlives what it bills. Rows are never
    changed but to close them; a correction is a row of its own."""

    account = models.ForeignKey("accounts.Account", on_delete=models.PROTECT, related_name="+")
    resource_uid = models.UUIDField(db_index=True)
    resource_kind = models.CharField(max_length=63)
    resource_name = models.CharField(max_length=63)
    cluster_uid = models.UUIDField()
    pod_uid = models.CharField(max_length=63)
    pod_name = models.CharField(max_length=253)
    node_name = models.CharField(max_length=253, blank=True)
    compute = models.CharField(max_length=63)
    price_per_hour = models.DecimalField(max_digits=20, decimal_places=9)
    """Of the whole node, as it was when the pod started."""
    share = models.DecimalField(max_digits=5, decimal_places=4)
    currency = models.CharField(max_length=3, default="USD")
    period = DateTimeRangeField()
    confirmed = models.BooleanField(default=True)
    """False while the end is not confirmed by the cluster: it is silent, and the pod may still run."""
    recorded_at = models.DateTimeField(auto_now_add=True)

    all_accounts = models.Manager()
    for_account = AccountScope()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pod_uid"], name="usage_one_interval_a_pod"),
            # NaN compares greater than all numbers in Postgres, so an upper bound keeps it out.
            models.CheckConstraint(
                condition=Q(price_per_hour__gte=0, price_per_hour__lt=10_000_000), name="usage_price_is_a_price"
            ),
            models.CheckConstraint(condition=Q(share__gt=0) & Q(share__lte=1), name="usage_share_of_one_node"),
            models.CheckConstraint(condition=Q(period__isempty=False), name="usage_period_not_empty"),
            # One pod is never billed twice for the same moment. The extension that would compare text in such a
            # constraint is not everywhere, so the uid goes in as a range of one number, its 64-bit hash.
            ExclusionConstraint(
                name="usage_no_overlap",
                expressions=[(_PodRange(F("pod_uid")), RangeOperators.OVERLAPS), ("period", RangeOperators.OVERLAPS)],
            ),
        ]
        indexes = [
            models.Index(fields=["account", "resource_uid"], name="usage_by_account"),
            models.Index(
                F("cluster_uid"),
                name="usage_open",
                condition=Q(period__endswith__isnull=True),
            ),
        ]
