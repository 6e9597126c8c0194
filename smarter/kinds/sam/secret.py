"""Secret: a value that other manifests refer to by name. Kept encrypted in a table of its own; never read back."""

from smarter.core.kind import Column, Kind
from smarter.core.problems import Problem
from smarter.core.text_policy import first_fault
from smarter.models.sam.secret import SAMSecret

EXAMPLE = """\
apiVersion: smarter.sh/v1
kind: Secret
metadata:
  name: hf_token
  description: A Hugging Face token, for models whose terms must be accepted first.
  version: 1.0.0
spec:
  config:
    value: put-the-token-here
    expiration_date: "2030-01-31T00:00:00Z"
"""


def admit(manifest: SAMSecret, _stored: SAMSecret | None) -> list[Problem]:
    value = manifest.spec.config.value
    text = value if isinstance(value, str) else value.get_secret_value()
    if not text.strip() or first_fault(text):
        words = "The value must have characters other than blanks, and no control characters."
        return [Problem("secret_value", "spec.config.value", words)]
    return []


KIND = Kind(
    api_version="smarter.sh/v1",
    name="Secret",
    plural="secrets",
    model=SAMSecret,
    summary="A value, such as a token or an API key, that other manifests refer to by name.",
    example=EXAMPLE,
    columns=(
        Column("EXPIRES", "spec.config.expiration_date"),
        Column("LAST USED", "status.last_accessed"),
        Column("MODIFIED", "status.modified"),
    ),
    writer="admin",
    secret_fields=("spec.config.value",),
    admit=admit,
)
