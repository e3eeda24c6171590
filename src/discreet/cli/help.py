"""`discreet help` and `completion`: manual pages and shell scripts, made from the commands."""

from __future__ import annotations

import inspect
import sys

import click
from click.shell_completion import get_completion_class

from discreet import __version__
from discreet.cli.output import plain
from discreet.errors import UsageError

EXIT_CODES = (
    ("0", "done, and within limits"),
    ("1", "done, and a limit is exceeded"),
    ("2", "the call cannot be understood"),
    ("3", "the data cannot be used"),
    ("4", "the policy cannot be used"),
    ("5", "refused, by a rule or a limit"),
    ("6", "something was changed that must not be"),
    ("69", "the store cannot be used"),
    ("70", "a bug"),
)
VARIABLES = (
    ("DISCREET_STORE", "where the store is: a path or a URL"),
    ("DISCREET_KEYS", "the file of keys that belongs to it"),
    ("DISCREET_DEBUG", "1 shows where a bug is, and may show values of people"),
    ("NO_COLOR", "any value turns colours off"),
)


@click.command(name="help", short_help="Read the manual of a command.")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Read the manual of Discreet or of one command; on a terminal, page by page.

    \b
    Examples:
      discreet help
      discreet help release make
    """
    text = manual(context.find_root().command, words)
    if sys.stdout.isatty():
        click.echo_via_pager(text)
    else:
        click.echo(text, nl=False)


def manual(root: click.Command, words: tuple[str, ...]) -> str:
    """The manual page of a command."""
    context = click.Context(root, info_name="discreet", max_content_width=100, terminal_width=100)
    for word in words:
        verb = context.command.get_command(context, word) if isinstance(context.command, click.Group) else None
        if verb is None:
            raise UsageError(f"There is no command '{plain(' '.join(words))}'.", remedy="See them with: discreet help")
        context = click.Context(verb, info_name=word, parent=context, max_content_width=100, terminal_width=100)
    with context:
        return _page(context)


def _page(context: click.Context) -> str:
    command, formatter = context.command, context.make_formatter()
    name = context.command_path
    short = command.get_short_help_str(200) if context.parent else "share person-level data knowing what it risks"
    title = f"{name.upper().replace(' ', '-')}(1)"
    formatter.write(f"{title:<40}Discreet {__version__:<30}{title:>20}\n".rstrip() + "\n")
    with formatter.section("NAME"):
        formatter.write_text(f"{name} - {short[:1].lower()}{short[1:].rstrip('.')}")
    with formatter.section("SYNOPSIS"):
        formatter.write_text(" ".join([name, *command.collect_usage_pieces(context)]))
    with formatter.section("DESCRIPTION"):
        formatter.write_text(inspect.cleandoc(command.help or "").partition("\f")[0])
    command.format_options(context, formatter)
    for heading, rows in (("EXIT STATUS", EXIT_CODES), ("ENVIRONMENT", VARIABLES)):
        with formatter.section(heading):
            formatter.write_dl(list(rows))
    text = click.unstyle(formatter.getvalue())
    return text.replace("\nOptions:\n", "\nOPTIONS:\n").replace("\nCommands:\n", "\nCOMMANDS:\n")


@click.command(name="completion", short_help="Print a script that completes commands in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that lets SHELL complete commands and options.

    \b
    Examples:
      discreet completion bash > ~/.local/share/bash-completion/completions/discreet
      discreet completion zsh > ~/.zfunc/_discreet             (with ~/.zfunc in $fpath)
      discreet completion fish > ~/.config/fish/completions/discreet.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"There is no completion for {shell}.", remedy="Use bash, zsh or fish.")
    # click looks at the version of the shell that runs; the script may be for another machine.
    unchecked = type(kind.__name__, (kind,), {"_check_version": staticmethod(lambda: None)})
    click.echo(unchecked(context.find_root().command, {}, "discreet", "_DISCREET_COMPLETE").source())
