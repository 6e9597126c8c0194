from django.apps import AppConfig


class CostsConfig(AppConfig):
    name = "smarter.apps.costs"
    label = "costs"
