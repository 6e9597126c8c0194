"""Everything that the quickstart needs in an empty database: the platform with its built-in node types, a demo account
with a key, and a cluster. Safe to repeat."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from pydantic import SecretStr

from smarter.apps.accounts.services import ensure_demo
from smarter.apps.clusters.services import ensure_cluster, refresh
from smarter.apps.resources.built_ins import ensure_built_ins

CLUSTER_NAME = "default"


class Command(BaseCommand):
    help = "Make the demo account, its key and the platform's default cluster. Prints one line of JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--kubeconfig", type=Path, help="of the cluster to use; without it, a simulated one")
        parser.add_argument(
            "--login-file", type=Path, help="JSON with a `token`; a new key is made only where that one no longer works"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        demo = ensure_demo(_known_token(options["login_file"]))
        ensure_built_ins()
        kubeconfig: Path | None = options["kubeconfig"]
        secret = SecretStr(kubeconfig.read_text()) if kubeconfig else None
        kind = "kubernetes" if secret else "simulated"
        cluster = ensure_cluster(demo.platform, demo.platform_user, CLUSTER_NAME, type=kind, kubeconfig=secret)
        refresh(cluster)
        made = {"account": demo.account.number, "username": demo.user.username, "cluster": cluster.type}
        if demo.key is not None:
            # The only time that this key is readable; the caller keeps it in a private file.
            made["token"] = demo.key.get_secret_value()
        self.stdout.write(json.dumps(made))


def _known_token(file: Path | None) -> str | None:
    if file is None or not file.exists():
        return None
    token = json.loads(file.read_text()).get("token")
    return str(token) if token else None
