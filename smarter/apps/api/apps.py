"""Registers the HTTP API. It has no tables."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "smarter.apps.api"
    label = "api"
