"""Registers the app of manifests: one table for every kind, and the services that write it."""

from django.apps import AppConfig


class ResourcesConfig(AppConfig):
    name = "smarter.apps.resources"
    label = "resources"
