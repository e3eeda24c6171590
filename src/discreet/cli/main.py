"""The command `discreet`: finds the verb, runs it, and turns whatever happens into an exit code.

0 done and within limits; 1 done, a limit is exceeded; 2 the call cannot be understood; 3 bad data; 4 bad policy;
5 refused; 6 integrity failure; 69 the store cannot be used; 70 a bug.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import click

from discreet import __version__
from discreet.cli.signals import end_tidily
from discreet.errors import DiscreetError


# A group of commands that imports a command only when it is asked for, so that help is instant.
class Verbs(click.Group):
    """`verbs` says what each does; a verb is `command` in the module of that name in `package`.

    With a `default` the group takes what that verb is about where a verb would stand: `discreet attack DATA` is `discreet
    attack table DATA`.
    """

    def __init__(self, *, package: str, verbs: Mapping[str, str], default: str | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._package, self._verbs, self._default = package, verbs, default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Anything that is neither a verb nor an option of the group is about the default."""
        if self._default and args and args[0] not in (*self._verbs, *self.get_help_option_names(ctx)):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in order."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command object."""
        if cmd_name not in self._verbs:
            return None
        module = importlib.import_module(f"{self._package}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._verbs.items()))


VERBS = {
    "account": "Let people into the web application, beside its custodians.",
    "anonymise": "Write the least lossy table within a limit.",
    "assess": "Measure the risk of publishing a table.",
    "attack": "See what a planning adversary would do, and what deters him.",
    "completion": "Let a shell complete commands and options.",
    "demo": "Tell the whole story on generated people.",
    "demo-data": "Generate a synthetic population and a hospital extract.",
    "doctor": "See what is installed, what is missing, and how to get it.",
    "gateway": "Stand between PostgreSQL clients and their server.",
    "help": "Read the manual of a command.",
    "ledger": "See, check and export what was disclosed.",
    "link": "Find records of one person, and pairs that people must decide.",
    "misuse": "Measure what query results could do in the wrong hands.",
    "policy": "Draft, check and describe policy files.",
    "profile": "See what is in a table and what its columns may be.",
    "release": "Give every recipient a copy that can be traced.",
    "report": "Tell a whole data-sharing project in one report.",
    "serve": "Run the web application.",
    "trace": "Find out from whose copy people or rows came.",
}
INTERRUPTED = 130
BUG = 70


@click.command(
    cls=Verbs,
    package="discreet.cli",
    verbs=VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="discreet")
def cli() -> None:
    """Share person-level data knowing what every disclosure risks.

    \b
    Examples:
      discreet demo --out demo                                    the whole story in a minute
      discreet profile people.csv                                 what is in it?
      discreet policy init people.csv --out policy.toml           draft the roles of its columns
      discreet assess people.csv --policy policy.toml --out report.html
    """


def main() -> NoReturn:
    """Run the command line and end the process with the documented exit code."""
    end_tidily()
    sys.exit(_run())


def _run() -> int:
    try:
        result = cli.main(standalone_mode=False, prog_name="discreet")
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except DiscreetError as error:
        return _say(error)
    except ModuleNotFoundError as error:
        from discreet.cli.missing_extra import lacking

        extra = lacking(error, sys.argv[1:])
        return _say(extra) if extra else _bug(error)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        _close_quietly()
        return 0
    except Exception as error:
        return _bug(error)
    return result if isinstance(result, int) else 0


def _say(error: DiscreetError) -> int:
    from discreet.cli.console import plain

    click.echo(plain(f"Error: {error.problem}"), err=True)
    if error.remedy:
        click.echo(plain(f"Next:  {error.remedy}"), err=True)
    return error.exit_code


def _bug(error: Exception) -> int:
    """A bug is reported by its place only: the message of an unforeseen error may hold a person's value."""
    if os.environ.get("DISCREET_DEBUG") == "1":
        traceback.print_exception(error)
        return BUG
    last = traceback.extract_tb(error.__traceback__)[-1]
    click.echo(f"Error: {type(error).__name__} at {Path(last.filename).name}:{last.lineno}. This is a bug.", err=True)
    click.echo("Next:  Report it with that line. DISCREET_DEBUG=1 shows more, and may show values of people.", err=True)
    return BUG


def _close_quietly() -> None:
    """The reader went away (as `head` does); stdout must not complain again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
