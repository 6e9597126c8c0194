"""Registers the app and its check with Django."""

from importlib import import_module

from django.apps import AppConfig


class SecretsConfig(AppConfig):
    name = "smarter.apps.secrets"
    label = "secrets"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import_module("smarter.apps.secrets.checks")
