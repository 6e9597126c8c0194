"""The `smarter` command: the list of its commands, and nothing else. Its modules are imported when they are needed."""

import typer

from smarter.cli import exit_codes
from smarter.cli.lazy import LazyCommand, LazyGroup, prepare_streams

MANIFESTS, RUNNING, ACCESS, MACHINE = "Manifests", "Running", "Access", "This machine"
_CLI = "smarter.cli."
EXIT_CODES = "\b\nExit codes:\n" + "\n".join(f"  {code}  {meaning}" for code, meaning in exit_codes.MEANINGS.items())


class Commands(LazyGroup):
    table = (
        LazyCommand("apply", f"{_CLI}apply_command", MANIFESTS, "Create or change what manifests declare."),
        LazyCommand("get", f"{_CLI}read_commands", MANIFESTS, "List the manifests of a kind, or show one."),
        LazyCommand("describe", f"{_CLI}read_commands", MANIFESTS, "Show one manifest for people."),
        LazyCommand("delete", f"{_CLI}change_commands", MANIFESTS, "Delete manifests, and what runs of them."),
        LazyCommand("kinds", f"{_CLI}read_commands", MANIFESTS, "List the kinds of manifests."),
        LazyCommand("schema", f"{_CLI}read_commands", MANIFESTS, "Print the JSON Schema of a kind."),
        LazyCommand("example", f"{_CLI}read_commands", MANIFESTS, "Print a manifest that applies as it is."),
        LazyCommand(
            "render", f"{_CLI}render_command", MANIFESTS, "Print the Kubernetes objects of manifests, offline.", False
        ),
        LazyCommand("deploy", f"{_CLI}change_commands", RUNNING, "Run a manifest that is stored."),
        LazyCommand("undeploy", f"{_CLI}change_commands", RUNNING, "Take a manifest off its cluster."),
        LazyCommand("wait", f"{_CLI}watch_commands", RUNNING, "Wait until a manifest is in a state."),
        LazyCommand("logs", f"{_CLI}watch_commands", RUNNING, "Print what the server of a model wrote."),
        LazyCommand("events", f"{_CLI}watch_commands", RUNNING, "Show what happened to a manifest."),
        LazyCommand("login", f"{_CLI}login_commands", ACCESS, "Keep the address and token of a server."),
        LazyCommand("context", f"{_CLI}login_commands", ACCESS, "List the logins, or choose one."),
        LazyCommand("whoami", f"{_CLI}login_commands", ACCESS, "Show whom the token belongs to."),
        LazyCommand("version", f"{_CLI}login_commands", ACCESS, "Show the versions of command and server."),
        LazyCommand("up", f"{_CLI}stack_commands", MACHINE, "Start Smarter on this machine.", False),
        LazyCommand("down", f"{_CLI}stack_commands", MACHINE, "Stop it. The data stay.", False),
        LazyCommand("status", f"{_CLI}stack_commands", MACHINE, "Show which of its processes run.", False),
    )


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    # Help in boxes costs three times the time: its library is large.
    rich_markup_mode=None,
    # A stack trace that prints the values of variables could print a token.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog=EXIT_CODES,
)


@app.callback()
def main() -> None:
    """Smarter: large language models on your clusters, declared in manifests."""
    prepare_streams()
