"""All commands in one program, and the door at which every error becomes one sentence and an exit code.

0 fine    1 the thing checked is wrong, or could not be done    2 used wrongly
"""

import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from typer.main import get_command

from seconder.cli import audit, database, doctor, keys, policy, queue, reviews, serve, tokens
from seconder.cli.show import say
from seconder.errors import ConfigurationError, InvalidInput, NotFound, PolicyInvalid, SeconderError

program = typer.Typer(
    help="No agent action without a second.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

RUN, LOOK, SET_UP = "Run", "Look", "Set up"

program.command(rich_help_panel=RUN)(serve.demo)
program.command(rich_help_panel=RUN)(serve.up)
program.command(rich_help_panel=RUN)(serve.worker)
program.command(rich_help_panel=RUN)(serve.sandbox)
program.add_typer(reviews.program, name="reviews", rich_help_panel=LOOK)
program.add_typer(queue.program, name="queue", rich_help_panel=LOOK)
program.add_typer(audit.program, name="audit", rich_help_panel=LOOK)
program.command(rich_help_panel=SET_UP)(doctor.doctor)
program.add_typer(policy.program, name="policy", rich_help_panel=SET_UP)
program.add_typer(database.program, name="db", rich_help_panel=SET_UP)
program.add_typer(keys.program, name="keys", rich_help_panel=SET_UP)
program.add_typer(tokens.program, name="tokens", rich_help_panel=SET_UP)


@program.callback(invoke_without_command=True)
def seconder(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    if show_version:
        print(version("seconder"))
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of the command in `arguments` (None: of this process)."""
    given = None if arguments is None else [*arguments]
    try:
        said = get_command(program).main(args=given, prog_name="seconder", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        return _used_wrongly(error)
    except typer.Abort:
        say("stopped; nothing more was done")
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left in the buffer goes nowhere
        return 1
    except Exception as error:  # noqa: BLE001 - each becomes a sentence; a bug's traceback is kept for a report
        return _failed(error)
    return said if isinstance(said, int) else 0


def _failed(error: Exception) -> int:
    match error:
        case ConfigurationError() | InvalidInput():
            say(str(error))
            return 2
        case NotFound(what="review" | "token" as what, ident=ident):
            say(f"there is no {what} {ident}: `seconder {what}s list` shows those there are")
        case PolicyInvalid():
            say(str(error), name=False)  # each line begins with its file and line
        case SeconderError():
            say(str(error))
        case OSError():
            say(f"{error.filename or 'the system'}: {error.strerror or error}")
        case _:
            say(f"a bug in Seconder ({type(error).__name__}): please report it with {_kept(error)}")
    return 1


def _used_wrongly(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    command = "seconder" if context is None else context.command_path
    if type(error).__name__ == "NoArgsIsHelpError":
        say(error.format_message(), name=False)
    else:
        say(f"{error.format_message().rstrip('.')}: see `{command} --help`")
    return 2


def _kept(error: Exception) -> Path:
    with tempfile.NamedTemporaryFile("w", prefix="seconder-bug-", suffix=".txt", delete=False) as file:
        file.writelines(traceback.format_exception(error))
    return Path(file.name)
