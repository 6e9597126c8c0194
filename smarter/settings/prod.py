"""Settings of production: behind TLS, and nothing starts without its secrets."""

from smarter.settings.base import *  # noqa: F403 - settings modules extend one another this way

if len(SECRET_KEY) < 50:  # noqa: F405 - from base
    raise ValueError("DJANGO_SECRET_KEY must be set to at least 50 random characters")

SECURE_SSL_REDIRECT = True
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
