"""Runs in a copy of the program that has the toys: posts them, has them reconciled, reads them back, over the API.

Prints one JSON object that test_adding.py judges. Called with a folder for the simulated cluster.
"""

import json
import sys
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command

django.setup()

from django.conf import settings  # noqa: E402 - Django has to be set up before its models are imported
from django.test import Client  # noqa: E402 - the same

from smarter.apps.accounts.services import ensure_demo  # noqa: E402 - the same
from smarter.apps.clusters.services import ensure_cluster, refresh  # noqa: E402 - the same
from smarter.apps.reconcile.loop import reconcile  # noqa: E402 - the same
from smarter.apps.resources.built_ins import ensure_built_ins  # noqa: E402 - the same
from smarter.kinds import KINDS  # noqa: E402 - the same

HOST = """\
apiVersion: smarter.sh/v1
kind: LLMHost
metadata: {name: toy_host}
spec:
  engine: {name: toy}
  model: {repository: Qwen/Qwen3-8B}
"""


def main(folder: Path) -> dict[str, Any]:
    settings.SMARTER.simulated_cluster_file = folder / "cluster.sqlite3"
    call_command("migrate", verbosity=0)
    demo = ensure_demo()
    ensure_built_ins()
    refresh(ensure_cluster(demo.platform, demo.platform_user, "default", type="simulated"))
    client = Client(headers={"Authorization": f"Bearer {demo.key.get_secret_value()}"})
    example = KINDS[("smarter.sh/v1", "Greeting")].example
    answers: dict[str, Any] = {
        "refused": post(client, example.replace("Hello", "Goodbye")),
        "greeting": post(client, example + "---\n" + HOST, "?deploy=true"),
        "bad_engine": post(client, HOST.replace("{name: toy}", "{name: toy, dtype: auto}")),
    }
    while reconcile() is not None:
        pass
    for name, address in {
        "read": "greetings/hello",
        "list": "greetings",
        "objects": "greetings/hello/objects",
        "schema": "kinds/Greeting/schema",
        "example": "kinds/Greeting/example",
        "openapi": "openapi.json",
        "host": "llmhosts/toy_host/objects",
    }.items():
        answer = client.get(f"/api/v1/{address}")
        answers[name] = {"status": answer.status_code, "body": answer.content.decode()}
    answers["deleted"] = client.delete("/api/v1/greetings/hello").status_code
    return answers


def post(client: Client, text: str, query: str = "") -> dict[str, Any]:
    answer = client.post(f"/api/v1/apply{query}", text, content_type="application/yaml")
    return {"status": answer.status_code, "body": answer.content.decode()}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
