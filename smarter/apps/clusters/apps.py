"""Registers the app with Django."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "smarter.apps.clusters"
    label = "clusters"
    default_auto_field = "django.db.models.BigAutoField"
