"""Each extra, installed from the wheel into an empty environment, does what it is for. Run with: pytest -m slow tests/packaging

The core is installed by pip, as the docs say; the extras by uv where it is at hand, since it has a cache.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.building import CLEAN, USES, environment, install, use
from tests.packaging.completing import SCRIPTS, completes
from tests.packaging.test_archives import PROJECT
from tests.servers import fresh_database, java_home

pytestmark = pytest.mark.slow
EXTRAS = sorted(PROJECT["optional-dependencies"])


def installed(wheel: Path, extra: str, folder: Path) -> Path:
    python = environment(folder, f"{wheel}[{extra}]")
    said = subprocess.run(
        [python.with_name("discreet"), "doctor", "--json"], cwd=folder, env=CLEAN, capture_output=True, check=True
    )
    states = {one["about"]: one["state"] for one in json.loads(said.stdout)["checks"]}
    assert states["core"] == "ok"
    assert states.get(f"extra {extra}", "ok") == "ok"
    return python


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    with fresh_database(postgres_url) as url:
        yield url


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the core and nothing else."""
    return environment(tmp_path_factory.mktemp("core") / "env", str(wheel), pip=True)


def test_the_core_does_its_work_and_says_what_it_lacks(core: Path, tmp_path: Path) -> None:
    use(core, "core", tmp_path / "work")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_shell_completes_commands_and_options(shell: str, core: Path, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / SCRIPTS[shell]
    script.parent.mkdir(parents=True)
    asked = [core.with_name("discreet"), "completion", shell]
    script.write_bytes(subprocess.run(asked, cwd=tmp_path, env=CLEAN, capture_output=True, check=True).stdout)
    subprocess.run([shell, "-n", str(script)], check=True)
    for line, into in (
        ("discreet rel", "discreet release"),
        ("discreet release mak", "discreet release make"),
        ("discreet assess --pop", "discreet assess --population"),
    ):
        completes(shell, line, into=into, home=tmp_path, path=f"{core.parent}:{CLEAN['PATH']}")


def test_the_remedy_helps(wheel: Path, tmp_path: Path) -> None:
    """What a message says, done literally where Discreet came as a file: the extra comes, Discreet stays."""
    python = environment(tmp_path / "core", str(wheel), pip=True)
    install(python, "discreet[lp]", pip=True)
    use(python, "lp", tmp_path / "work")


@pytest.mark.parametrize("extra", [one for one in EXTRAS if one not in ("postgres", "gateway", "spark")])
def test_an_extra_does_what_it_is_for(extra: str, wheel: Path, tmp_path: Path) -> None:
    use(installed(wheel, extra, tmp_path / "empty"), extra, tmp_path / "work")


@pytest.mark.postgres
@pytest.mark.parametrize("extra", ["postgres", "gateway"])
def test_an_extra_works_with_a_server(extra: str, wheel: Path, database: str, tmp_path: Path) -> None:
    use(installed(wheel, extra, tmp_path / "empty"), extra, tmp_path / "work", database)


def test_spark_counts(wheel: Path, tmp_path: Path) -> None:
    java = str(java_home(tmp_path))
    use(installed(wheel, "spark", tmp_path / "empty"), "spark", tmp_path / "work", JAVA_HOME=java)


def test_every_extra_has_a_use() -> None:
    assert {*EXTRAS, "core", "calling"} == {path.stem for path in USES.glob("*.py")}
