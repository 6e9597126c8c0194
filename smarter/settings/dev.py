"""Settings of the quickstart: one machine, loopback, plain HTTP."""

from smarter.settings.base import *  # noqa: F403 - settings modules extend one another this way

if not SECRET_KEY:  # noqa: F405 - from base
    raise ValueError("DJANGO_SECRET_KEY is not set")
