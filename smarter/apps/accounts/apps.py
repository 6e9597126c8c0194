"""Registers the app with Django."""

from importlib import import_module

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "smarter.apps.accounts"
    label = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Only now: the extension needs the models, which exist after all apps are loaded.
        import_module("smarter.apps.accounts.openapi")
