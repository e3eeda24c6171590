"""`discreet completion`: a script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from discreet.errors import UsageError

VARIABLE = "_DISCREET_COMPLETE"


@click.command(name="completion", short_help="Let a shell complete commands and options.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that lets SHELL complete commands and options.

    \b
    Examples:
      discreet completion bash > ~/.local/share/bash-completion/completions/discreet
      discreet completion zsh > ~/.zfunc/_discreet             (with ~/.zfunc in $fpath)
      discreet completion fish > ~/.config/fish/completions/discreet.fish
    """
    from discreet.cli.main import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"There is no completion for {shell}.", remedy="Use bash, zsh or fish.")
    click.echo(_Printed.of(kind)(cli, {}, "discreet", VARIABLE).source())


class _Printed:
    """click looks at the version of the shell that runs; who writes a file may be another one."""

    @staticmethod
    def of(kind: type) -> type:
        """The same without that look."""
        return type(kind.__name__, (kind,), {"_check_version": staticmethod(lambda: None)})
