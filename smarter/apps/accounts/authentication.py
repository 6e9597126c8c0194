"""HTTP authentication by API key, `Authorization: Bearer <key>` or `Token <key>`, for every view of the API.

A platform administrator's key may name another account to act in by the header X-Smarter-Account.
"""

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from smarter.apps.accounts import services
from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.models import User

ACCOUNT_HEADER = "X-Smarter-Account"
_SCHEMES = frozenset({"bearer", "token"})
# One answer for every key that does not work, so that nobody learns which ids exist.
_REFUSAL = "The API key is not valid."


class ApiKeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[User, Actor] | None:
        scheme, _, text = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() not in _SCHEMES:
            return None
        actor = services.authenticate(text.strip())
        if actor is None:
            raise AuthenticationFailed(_REFUSAL)
        number = request.headers.get(ACCOUNT_HEADER)
        if number is None:
            return actor.user, actor
        elsewhere = services.acting_in(actor, number.strip())
        if elsewhere is None:
            raise PermissionDenied("This API key does not act in that account.")
        return elsewhere.user, elsewhere

    def authenticate_header(self, request: Request) -> str:
        """Its presence makes a missing key a 401 rather than a 403."""
        return 'Bearer realm="smarter"'
