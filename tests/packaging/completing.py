"""What a shell makes of a line when a person presses the tabulator, with the script where `discreet completion --help` says."""

from __future__ import annotations

import os
import select
import subprocess
import time
from pathlib import Path

SCRIPTS = {
    "bash": ".local/share/bash-completion/completions/discreet",
    "zsh": ".zfunc/_discreet",
    "fish": ".config/fish/completions/discreet.fish",
}
"""Where the script of each shell is, from a person's home."""
STARTED = {"bash": ["bash", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"]}
READY = {
    "bash": f"source ~/{SCRIPTS['bash']}",  # what the package bash-completion does at the first tabulator
    "zsh": "fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit -u -D",
}
PATIENCE = 60.0
"""Seconds; a shell that completes nothing rings a bell and waits."""


def completes(shell: str, line: str, *, into: str, home: Path, path: str) -> None:
    """Fails unless the shell makes `into` of `line`. Files of the person's own are in `home`."""
    settings = {"HOME": str(home), "PATH": path, "TERM": "dumb", "LANG": "C.UTF-8"}
    if shell == "fish":  # tells without a terminal
        asked = ["fish", "-c", f"complete -C '{line}'"]
        said = subprocess.run(asked, env=settings, cwd=home, capture_output=True, text=True, check=True).stdout
        offered = [one.partition("\t")[0] for one in said.splitlines()]
        assert offered == [into.split()[-1]], said
    else:
        _type(shell, line, into, settings)


def _type(shell: str, line: str, into: str, settings: dict[str, str]) -> None:
    ours, theirs = os.openpty()
    with subprocess.Popen(
        STARTED[shell],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=settings,
        cwd=settings["HOME"],
        start_new_session=True,
    ) as running:
        os.close(theirs)
        try:
            os.write(ours, f"{READY[shell]}; echo rea''dy\n".encode())
            _await(ours, "ready")
            os.write(ours, f"{line}\t".encode())
            _await(ours, f"{into} ")
        finally:
            running.kill()
            os.close(ours)


def _await(terminal: int, sign: str) -> None:
    seen, end = b"", time.monotonic() + PATIENCE
    while sign.encode() not in seen:
        left = max(0.0, end - time.monotonic())
        assert select.select([terminal], [], [], left)[0], f"{sign!r} does not come: {seen!r}"
        seen += os.read(terminal, 4096)
