from django.apps import AppConfig


class ReconcileConfig(AppConfig):
    name = "smarter.apps.reconcile"
    label = "reconcile"
