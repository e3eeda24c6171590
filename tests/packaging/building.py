"""Building the archives, and environments that have nothing but them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
USES = Path(__file__).parent / "uses"
CLEAN = {
    name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "DISCREET_STORE")
}


def files_of_the_project() -> list[str]:
    """What git has, as paths from the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def copy_of_the_project(folder: Path) -> Path:
    """What git has, as it is now, and nothing else: a build finds no leftovers there."""
    for name in files_of_the_project():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def build(project: Path, out: Path) -> tuple[Path, Path]:
    """The wheel and the source archive, by the backend that pyproject.toml names."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out)]
    subprocess.run(command, cwd=project, env=CLEAN, capture_output=True, check=True)
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


def uv() -> str | None:
    """The installer of `make setup`, which has a cache; where it is not, pip does it."""
    own = ROOT / ".tools" / "bin" / "uv"
    return str(own) if own.exists() else shutil.which("uv")


def environment(folder: Path, *wanted: str, pip: bool = False) -> Path:
    """A new environment with what is wanted and nothing else; gives its Python."""
    tool = None if pip else uv()
    if tool:
        subprocess.run([tool, "venv", "--quiet", "--python", sys.executable, str(folder)], env=CLEAN, check=True)
    else:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], env=CLEAN, check=True)
    python = folder / "bin" / "python"
    install(python, *wanted, pip=pip)
    return python


def install(python: Path, *wanted: str, pip: bool = False) -> None:
    """Add packages to an environment."""
    tool = None if pip else uv()
    command = [tool, "pip", "install", "--python", str(python)] if tool else [str(python), "-m", "pip", "install"]
    done = subprocess.run([*command, "--quiet", *wanted], env=CLEAN, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def use(python: Path, name: str, folder: Path, *words: str, **more: str) -> str:
    """Run a script of `uses` with another Python, in a folder far from the source; gives what it prints."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {**CLEAN, "DISCREET_STORE": str(folder / "store.db"), "PYTHONUTF8": "1", **more}
    # The folder of scripts comes last: one is named after its extra, which may be the name of a package.
    start = f"import runpy, sys; sys.path.append({str(USES)!r}); runpy.run_path({str(USES / f'{name}.py')!r}, run_name='__main__')"
    command = [str(python), "-P", "-c", start, *words]
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
