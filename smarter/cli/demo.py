"""The quick start's host where this machine can serve models: its manifest, and the question that is put to it.

The weights are random, so that nothing has to be fetched from a network. Everything else is as with any host.
"""

import http.client
import json
import os
import secrets
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from smarter.cli.embedded import serving, state
from smarter.cli.embedded.launch import Stack
from smarter.core.errors import PermanentError

HOST = "random_words"
KEY_SECRET = "random_words_key"
PROMPT = "Once upon a time"
_PATIENCE_SECONDS = 20.0
_GIB = 2**30

MANIFEST = """\
# What ./scripts/quickstart serves on this machine. It holds the key of the demo, so keep it to yourself.
apiVersion: smarter.sh/v1
kind: LLMHostCompute
metadata:
  name: {compute}
  description: This machine, on which model servers run as processes.
spec:
  node:
    instanceType: this-machine
    cpu: {cpu}
    memoryGb: {memory}
    labels:
      smarter.sh/compute: {compute}
    tolerations:
      - key: smarter.sh/compute
        operator: Equal
        value: {compute}
        effect: NoSchedule
  cost:
    perHour: 0.5
    currency: USD
    source: an example, for the demo
    date: "2026-12-01"
---
apiVersion: smarter.sh/v1
kind: Secret
metadata:
  name: {secret}
  description: The API key of {host}.
spec:
  config:
    value: {key}
---
apiVersion: smarter.sh/v1
kind: LLMHost
metadata:
  name: {host}
  description: A tiny model with random weights, served by this machine.
spec:
  model:
    source: url
    repository: http://127.0.0.1:{models_port}/{file}
    quantization: gguf
  engine:
    name: llama_cpp
    port: {port}
    contextLength: 1024
    maxConcurrentRequests: 2
  compute: {compute}
  resources:
    cpu: 250m
    memory: 512Mi
  storage:
    size: 1Gi
  network:
    apiKeySecret: {secret}
  healthCheck:
    periodSeconds: 1
"""


@dataclass(frozen=True)
class Answer:
    """`command` is what a person types; `text` is what the model said to it."""

    command: str
    text: str
    address: str


def write_manifest(running: Stack) -> Path:
    """The same file as long as the same ports hold, so that another run changes nothing."""
    file = running.state_dir / "random-words.yaml"
    text = MANIFEST.format(
        compute=serving.COMPUTE,
        cpu=os.cpu_count() or 1,
        memory=max(4, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _GIB),
        host=HOST,
        secret=KEY_SECRET,
        key=key_file(running).read_text(),
        models_port=running.models_port,
        file=serving.MODEL_FILE,
        port=running.engine_port,
    )
    if not file.exists() or file.read_text() != text:
        state.write_private(file, text)
    return file


def key_file(running: Stack) -> Path:
    path = running.state_dir / "random-words.key"
    if not path.exists():
        state.write_private(path, f"sk-{secrets.token_hex(16)}")
    return path


def ask(running: Stack) -> Answer:
    """Runs the command that is shown, with curl where there is one. The server may not listen yet after a restart."""
    address = f"http://127.0.0.1:{running.engine_port}/v1"
    body = json.dumps({"prompt": PROMPT, "max_tokens": 12})
    key = key_file(running)
    command = f"curl {address}/completions -H \"Authorization: Bearer $(cat {key})\" -d '{body}'"
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        text = _said(_run(command) if shutil.which("curl") else _request(running.engine_port, key.read_text(), body))
        if text is not None:
            return Answer(command, text, address)
        if time.monotonic() > deadline:
            raise PermanentError(f"The host does not answer at {address}.", reason="NoAnswer")
        time.sleep(0.2)


def _run(command: str) -> bytes:
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=60, check=False).stdout


def _request(port: int, key: str, body: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", "/v1/completions", body, {"Authorization": f"Bearer {key}"})
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return b""
    finally:
        connection.close()


def _said(answer: bytes) -> str | None:
    try:
        return str(json.loads(answer)["choices"][0]["text"]).strip()
    except (ValueError, LookupError, TypeError):
        return None
