"""When each cluster is looked at next, and which workers are alive."""

from django.db import models


class ClusterWatch(models.Model):
    """The lease and the clock of one cluster's observation. A row of its own, so that a pass never touches the
    registration."""

    cluster = models.OneToOneField("clusters.Cluster", on_delete=models.CASCADE, related_name="watch", primary_key=True)
    next_observe_at = models.DateTimeField(db_index=True)
    lease_owner = models.CharField(max_length=100, blank=True)
    lease_token = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    fail_count = models.IntegerField(default=0)
    info_at = models.DateTimeField(null=True, blank=True)
    """When version, features and nodes were read last."""
    observed_at = models.DateTimeField(null=True, blank=True)
    """When a pass last succeeded: the `lastCheckedAt` of everything on the cluster."""

    objects = models.Manager()


class AnswerCheck(models.Model):
    """What came of the last question to a host, and when it is asked next. A row of its own, which no other write
    touches."""

    resource = models.OneToOneField(
        "resources.Resource", on_delete=models.CASCADE, related_name="answer_check", primary_key=True
    )
    next_at = models.DateTimeField(db_index=True)
    asked_at = models.DateTimeField(null=True, blank=True)
    status = models.CharField(max_length=7, blank=True)
    """True, False or Unknown, as in a condition; empty before the first answer."""
    reason = models.CharField(max_length=64, blank=True)
    message = models.TextField(blank=True)
    failures = models.IntegerField(default=0)
    """In a row."""

    objects = models.Manager()


class WorkerHeartbeat(models.Model):
    """Written by tasks, never by a timer of its own: a worker is alive when it does work."""

    worker = models.CharField(max_length=100, primary_key=True)
    seen_at = models.DateTimeField()

    objects = models.Manager()
