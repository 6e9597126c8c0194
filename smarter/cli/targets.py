"""The arguments KIND and NAME, written apart or as KIND/NAME, which is what `get -o name` prints."""

from typing import Annotated

import typer

from smarter.cli.failures import bad_usage

TargetArgument = Annotated[
    list[str], typer.Argument(metavar="KIND NAME", show_default=False, help="For example: llmhost my_host")
]
OptionalTargetArgument = Annotated[
    list[str], typer.Argument(metavar="KIND [NAME]", show_default=False, help="For example: llmhosts")
]


def kind_and_name(words: list[str]) -> tuple[str, str]:
    kind, name = kind_and_maybe_name(words)
    if not name:
        raise bad_usage(f"Say which {kind}: KIND NAME, or KIND/NAME.")
    return kind, name


def kind_and_maybe_name(words: list[str]) -> tuple[str, str]:
    """The name is empty where none is given."""
    if len(words) == 1:
        kind, _, name = words[0].partition("/")
        return kind, name
    if len(words) == 2 and "/" not in words[0]:
        return words[0], words[1]
    raise bad_usage(f"KIND NAME is expected, not: {' '.join(words)}")
