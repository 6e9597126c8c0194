"""The start fails where secrets could not be read: Django runs this before every command and server."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from smarter.apps.secrets.keyring import KeyRingError, current_ring


@register("secrets")
def key_ring_is_usable(**_kwargs: Any) -> list[CheckMessage]:
    try:
        current_ring()
    except KeyRingError as error:
        return [Error(error.message, hint="Run `manage.py secrets_init` on a new installation.", id="secrets.E001")]
    return []
