"""From a fresh checkout to a running, metered model host. Run by scripts/quickstart, once the packages are there.

Every step may have been done already: running it again attaches to what runs and applies the same manifest.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from smarter.cli import demo
from smarter.cli.embedded import control_plane, launch, llama_server, serving, stack, state
from smarter.cli.embedded.launch import Stack
from smarter.cli.failures import CommandFailed
from smarter.cli.stack_commands import Progress, checkout, failures_shown
from smarter.core.errors import PermanentError

EXAMPLE = Path("docs/examples/01-llm-host.yaml")
WAIT = "5m"

RealOption = Annotated[bool, typer.Option("--control-plane", help="Start a real Kubernetes control plane and use it.")]
# KUBECONFIG is not looked at: it often names a cluster that nobody means to deploy to today.
KubeconfigOption = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False, resolve_path=True, envvar="SMARTER_KUBECONFIG", help="Deploy to this cluster."
    ),
]
DeployOption = Annotated[bool, typer.Option(help="Apply the first example and wait until it is active.")]
PortOption = Annotated[int, typer.Option(help="Port of the API; by default 8000, or a free one.")]


@dataclass(frozen=True)
class Login:
    """How the command line reaches the demo account. The file is private; the token is shown nowhere else."""

    account: str
    username: str
    token: str
    file: Path

    def __repr__(self) -> str:
        return f"Login({self.account})"


def quickstart(
    real: RealOption = False,
    kubeconfig: KubeconfigOption = None,
    deploy: DeployOption = True,
    port: PortOption = 0,
) -> None:
    """Set Smarter up on this machine and deploy the first example."""
    progress = Progress(_began())
    try:
        with failures_shown():
            shown = run(progress, real=real, kubeconfig=kubeconfig, deploy=deploy, port=port)
    except CommandFailed as failure:
        typer.echo(f"error: {failure.message}", err=True)
        raise typer.Exit(failure.exit_code) from None
    progress("Done")
    typer.echo(shown)


def run(progress: Progress, *, real: bool, kubeconfig: Path | None, deploy: bool, port: int) -> str:
    folder = checkout()
    state_dir = state.default_state_dir(folder)
    if real:
        progress("Starting a Kubernetes control plane")
        kubeconfig = control_plane.up(folder, state_dir)
    with state.locked(state_dir):
        serving.arrange(state_dir, wanted=kubeconfig is None)
        running = stack.prepare(folder, state_dir, progress, port)
        running = launch.start_programs(running)
    progress("Making the demo account and its cluster")
    login = seed(running, kubeconfig)
    stack.wait_ready(running, progress)
    host = deploy_example(running, login, progress) if deploy else None
    answer = demo.ask(running) if host and running.model_server else None
    return screen(running, login, Shown(host, _cluster_line(running, real, kubeconfig), answer))


def _began() -> float | None:
    """The script notes when it began, so that the time for the packages counts."""
    text = os.environ.get("QUICKSTART_BEGAN", "")
    return float(text) if text else None


def seed(running: Stack, kubeconfig: Path | None) -> Login:
    """Make the demo account and its cluster, or find them. A token is shown once, so it is kept in a private file."""
    file = running.state_dir / "cli.json"
    arguments = ["--kubeconfig", str(kubeconfig)] if kubeconfig else []
    made = json.loads(stack.manage(running, "seed_demo", "--login-file", str(file), *arguments))
    token = made.get("token") or json.loads(file.read_text())["token"]
    content = {"server": running.url, "account": made["account"], "username": made["username"], "token": token}
    state.write_private(file, json.dumps(content, indent=1))
    return Login(made["account"], made["username"], token, file)


def deploy_example(running: Stack, login: Login, progress: Progress) -> dict[str, Any]:
    """Apply, deploy and follow the first example with the same command that a pipeline would use. Where this machine
    can serve models, that is a host of its own."""
    file = demo.write_manifest(running) if running.model_server else running.checkout / EXAMPLE
    shown = file.relative_to(running.checkout) if file.is_relative_to(running.checkout) else file
    progress(f"smarter apply -f {shown} --deploy --wait {WAIT}")
    program = [sys.executable, "-P", "-c", "from smarter.cli.main import app; app(prog_name='smarter')"]
    arguments = ["apply", "-f", str(file), "--deploy", "--wait", WAIT, "-o", "json"]
    done = subprocess.run(
        [*program, *arguments], env=_client_environment(running, login), stdout=subprocess.PIPE, check=False
    )
    if done.returncode != 0:
        sys.stderr.buffer.write(done.stdout)
        raise PermanentError(f"The example did not become active (exit code {done.returncode}).", reason="NotActive")
    return next(result for result in json.loads(done.stdout)["results"] if result["kind"] == "LLMHost")


def _client_environment(running: Stack, login: Login) -> dict[str, str]:
    """Another login that the caller has chosen is left out: the demo goes to the server that was just started."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SMARTER_")}
    return {**kept, "SMARTER_CONFIG": str(login.file), "PYTHONPATH": str(running.checkout)}


def _cluster_line(running: Stack, real: bool, kubeconfig: Path | None) -> str:
    if real:
        return f"Kubernetes control plane of this machine, simulated nodes (kubectl --kubeconfig {kubeconfig})"
    if kubeconfig:
        return str(kubeconfig)
    if running.model_server:
        return "simulated, because no kubeconfig was given; one node of it is this machine and runs llama-server"
    return "simulated, because no kubeconfig was given: it runs no model and answers no prompt"


@dataclass(frozen=True)
class Shown:
    """`answer` is there where the host serves for real."""

    host: dict[str, Any] | None
    cluster: str
    answer: demo.Answer | None


def screen(running: Stack, login: Login, shown: Shown) -> str:
    lines = [("Cluster", shown.cluster)]
    host, answer = shown.host, shown.answer
    if not running.model_server and shown.cluster.startswith("simulated"):
        lines.append(("Real tokens", f"{llama_server.HOW_TO_GET} (about 5 minutes), then run this again"))
    if host is not None:
        status = host["status"]
        lines += [
            ("Host", f"{host['name']}  {status['hostStatus']}"),
            ("Endpoint", answer.address if answer else status.get("publicUrl") or status.get("endpoint") or "-"),
            ("Price", f"{_money(host.get('pricePerHour'))} per hour"),
            ("Cost so far", _money(status.get("estimatedCost"))),
        ]
    if answer is not None:
        lines += [("Try", answer.command), ("Answer", f"{answer.text} (random weights, so random words)")]
    lines += [
        ("API", f"{running.url}/api/v1/"),
        ("Documentation", f"{running.url}/"),
        ("Account", f"{login.account}, user {login.username}"),
        ("Token", f"in {login.file}; use it with: export SMARTER_CONFIG={login.file}"),
        ("Next", ".venv/bin/smarter get llmhosts"),
        ("Stop", ".venv/bin/smarter down"),
    ]
    return "\n" + "\n".join(f"{name:<15}{text}" for name, text in lines)


def _money(amount: Any) -> str:
    return "-" if amount is None else f"${float(amount):.6f}"


if __name__ == "__main__":
    typer.run(quickstart)
