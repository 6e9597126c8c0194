"""Where the keys of a bucket come from: a token of the manifest's own, the role of the pod's service account, or
nowhere, for a public bucket."""

import calendar
import re
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from smarter.fetch.errors import FetchError
from smarter.fetch.pace import repeated
from smarter.fetch.s3 import judge
from smarter.fetch.sigv4 import Keys, Signer
from smarter.fetch.transfer import Context
from smarter.fetch.web import request
from smarter.fetch.xml import parsed, text_of

_STATIC = re.compile(r"([A-Za-z0-9_-]{1,128}):([!-~]{1,256})\Z", re.ASCII)
_ROLE = re.compile(r"arn:[A-Za-z0-9:/_+=,.@-]{1,2040}\Z", re.ASCII)
_REGION = re.compile(r"[a-z0-9][a-z0-9-]{0,39}\Z", re.ASCII)
_MAX_ANSWER_BYTES = 256 * 1024
_NOWHERE = ("https", "", 0)


def signer_of(secret: str, environ: Mapping[str, str], context: Context) -> Signer:
    """`secret` is ACCESS_KEY_ID:SECRET_ACCESS_KEY. `s3` tells the signer the place and the region later."""
    extra = {"x-amz-checksum-mode": "ENABLED"}
    if secret:
        match = _STATIC.match(secret)
        if not match:
            raise FetchError("unauthorized", "the keys of the bucket are not written ACCESS_KEY_ID:SECRET_ACCESS_KEY")
        return Signer(_NOWHERE, "", Keys(match.group(1), match.group(2)), extra=extra)
    if environ.get("AWS_ROLE_ARN") and environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"):

        def renew() -> Keys:
            return _of_role(environ, context)

        return Signer(_NOWHERE, "", renew(), renew, extra)
    return Signer(_NOWHERE, "", None, extra=extra)


def described(signer: Signer) -> str:
    """What was used to ask, without any of its values."""
    if signer.renew:
        return "the role of the service account"
    return "the keys of the Secret" if signer.keys else "requests without keys"


def _of_role(environ: Mapping[str, str], context: Context) -> Keys:
    """Exchanges the token of the service account for keys of its role, at the security token service. The token is
    read anew each time: the cluster replaces it."""
    role, region = environ["AWS_ROLE_ARN"], environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or ""
    try:
        token = Path(environ["AWS_WEB_IDENTITY_TOKEN_FILE"]).read_text().strip()
    except (OSError, UnicodeDecodeError):
        raise FetchError("unauthorized", "the token of the service account cannot be read") from None
    if not _ROLE.match(role) or (region and not _REGION.match(region)):
        raise FetchError("unauthorized", "AWS_ROLE_ARN or AWS_REGION is malformed")
    zone = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    service = environ.get("AWS_ENDPOINT_URL_STS") or (
        f"https://sts.{region}.{zone}" if region else f"https://sts.{zone}"
    )
    form = {
        "Action": "AssumeRoleWithWebIdentity",
        "Version": "2011-06-15",
        "RoleArn": role,
        "RoleSessionName": "smarter-fetch",
        "WebIdentityToken": token,
    }
    return repeated(context.pace, context.stop, lambda: _exchanged(service, form, context))


def _exchanged(service: str, form: Mapping[str, str], context: Context) -> Keys:
    body = urlencode(form).encode()
    with request(f"{service.rstrip('/')}/", context.rules, body=body, follow=False) as answer:
        if answer.status == 400:
            # This service answers every refusal with 400.
            raise FetchError("unauthorized", f"{answer.host} does not give keys of the role to the service account")
        judge(answer, "the keys of the role", "the service account")
        found = parsed(answer.read_all(_MAX_ANSWER_BYTES), answer.host)
        host = answer.host
    values = [text_of(found, name) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")]
    if not all(value and value.isascii() and value.isprintable() for value in values):
        raise FetchError("bad_answer", f"{host} answered without keys")
    return Keys(values[0], values[1], values[2], _moment(text_of(found, "Expiration")))


def _moment(text: str) -> float:
    """Unreadable times count as an hour from now, the usual lifetime."""
    try:
        return float(calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return time.time() + 3600
