"""Settings of the tests. Postgres and Valkey are real: tests/conftest.py starts them and sets their addresses."""

from smarter.settings.base import *  # noqa: F403 - settings modules extend one another this way
from smarter.settings.base import DATABASES, SMARTER

SECRET_KEY = "tests-only"
ALLOWED_HOSTS = ["*"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DATABASES["default"]["CONN_MAX_AGE"] = 0
SMARTER.lease_seconds = 3.0
SMARTER.poll_fast_seconds = 1.0
SMARTER.poll_slow_seconds = 1.0
