"""Builds the search engine in C where a compiler is at hand; without one Discreet searches in numpy, with the same results."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src/discreet/anonymity/lattice")
FLAGS = ("-O3", "-shared", "-fPIC", "-ffp-contract=off")  # fused operations would round differently from numpy


def compiler() -> list[str] | None:
    """The C compiler that CC names, or the first that is found; None without one. `CC=` means: build nothing."""
    if "CC" in os.environ:
        return os.environ["CC"].split() or None
    return next(([name] for name in ("cc", "gcc", "clang") if shutil.which(name)), None)


def build(root: Path) -> Path | None:
    """The library beside its source, or None where it cannot be built; one that was built before is then removed."""
    source, library, command = root / FOLDER / "engine.c", root / FOLDER / "engine.so", compiler()
    half = library.with_suffix(f".{os.getpid()}")
    try:
        if command is None:
            raise OSError("there is no C compiler")
        # Whole before it is in place: another process may be loading it.
        subprocess.run([*command, *FLAGS, "-o", str(half), str(source), "-lm"], check=True, capture_output=True)
        half.replace(library)
    except (OSError, subprocess.CalledProcessError) as error:
        half.unlink(missing_ok=True)
        library.unlink(missing_ok=True)
        sys.stderr.write(f"The search engine was not compiled ({error}); searches run in numpy.\n")
        return None
    return library


class EngineHook(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls before it packs anything."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library, and put it into a wheel for this platform and any Python 3."""
        library = build(Path(self.root)) if self.target_name == "wheel" else None
        if library is not None and version != "editable":
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"], build_data["tag"] = False, f"py3-none-{platform}"
            build_data["force_include"][str(library)] = "discreet/anonymity/lattice/engine.so"
