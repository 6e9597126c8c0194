"""The Celery application: worker and beat start here. Its settings are in settings/base.py, with their reasons."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "smarter.settings.prod")

app = Celery("smarter")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["smarter.apps.reconcile"])
