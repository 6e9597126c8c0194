"""SmarterAuthToken: a key with which a program uses the API in the name of a user. Kept in a table of its own; the key
itself is shown once, when it is made."""

from smarter.core.kind import Column, Kind
from smarter.models.sam.smarter_auth_token import SAMSmarterAuthToken

EXAMPLE = """\
apiVersion: smarter.sh/v1
kind: SmarterAuthToken
metadata:
  name: pipeline_key
  description: The key of the deployment pipeline.
  version: 1.0.0
spec:
  config:
    isActive: true
    username: first_user
"""

KIND = Kind(
    api_version="smarter.sh/v1",
    name="SmarterAuthToken",
    plural="smarterauthtokens",
    model=SAMSmarterAuthToken,
    summary="A key with which a program uses the API in the name of a user.",
    example=EXAMPLE,
    columns=(
        Column("USERNAME", "spec.config.username"),
        Column("ACTIVE", "spec.config.isActive"),
        Column("LAST USED", "status.lastUsedAt"),
    ),
    writer="admin",
)
