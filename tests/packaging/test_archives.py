"""What is in the wheel and in the source archive, what stands in their metadata, and that the wheel runs alone."""

from __future__ import annotations

import email
import re
import subprocess
import sysconfig
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import yaml
from hatch_build import compiler

import discreet
from tests.packaging.building import ROOT, build, environment, files_of_the_project

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

ENGINE = "discreet/anonymity/lattice/engine.so"


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_string(archive.read(name).decode("utf-8"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    own = {name.removeprefix("src/") for name in files_of_the_project() if name.startswith("src/discreet/")}
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
        about = {name.partition("/")[2] for name in archive.namelist() if ".dist-info/" in name}
    # The search engine, where there was a C compiler.
    assert found - {ENGINE} == own
    assert about == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    kinds = {Path(name).suffix for name in own}
    assert {".py", ".typed", ".html", ".css", ".js", ".svg", ".mako"} <= kinds


def test_the_source_archive_holds_the_project(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[1]) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    missing = {*files_of_the_project()} - found
    assert not missing, f"name them in pyproject.toml, under [tool.hatch.build.targets.sdist]: {sorted(missing)}"
    assert found - {*files_of_the_project()} == {"PKG-INFO"}


def test_a_table_that_lies_about_is_not_taken_along(archives: tuple[Path, Path], tmp_path: Path) -> None:
    with tarfile.open(archives[1]) as archive:
        archive.extractall(tmp_path)  # noqa: S202 - our own archive; Python 3.11.2 knows no filter yet
    project = next(tmp_path.glob("discreet-*"))
    (project / "patients.csv").write_text("name\nnobody\n", encoding="utf-8")
    again = build(project, tmp_path / "dist")
    with tarfile.open(again[1]) as archive:
        assert not any("patients" in name for name in archive.getnames())
    with zipfile.ZipFile(again[0]) as new, zipfile.ZipFile(archives[0]) as old:
        assert sorted(new.namelist()) == sorted(old.namelist())


def test_the_version_is_the_one_of_the_package(wheel: Path) -> None:
    assert "version" not in PROJECT
    assert metadata(wheel)["Version"] == discreet.__version__
    with zipfile.ZipFile(wheel) as archive:
        compiled = ENGINE in archive.namelist()
    platform = re.fullmatch(rf"discreet-{re.escape(discreet.__version__)}-py3-none-(\w+)\.whl", wheel.name)
    assert platform is not None
    assert (platform[1] != "any") == compiled == (compiler() is not None)
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == discreet.__version__


def test_whoever_cites_it_names_what_the_package_says_it_is() -> None:
    about = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert about == {
        "cff-version": "1.2.0",
        "message": about["message"],
        "type": "software",
        "title": "Discreet",
        "abstract": PROJECT["description"],
        "authors": PROJECT["authors"],
        "version": discreet.__version__,
        "license": PROJECT["license"],
        "keywords": PROJECT["keywords"],
    }


def test_the_metadata_say_what_it_is(wheel: Path) -> None:
    about = metadata(wheel)
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in (about.get_all("Classifier") or [])
    assert set(about.get_all("Provides-Extra") or []) == {*PROJECT["optional-dependencies"]}
    assert "://" not in "".join(about.get_all("Requires-Dist") or [])
    body = str(about.get_payload())
    assert body.startswith("# Discreet")


def test_the_docs_name_the_versions_of_python_that_the_metadata_promise() -> None:
    promised = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if ":: Python :: 3." in one}
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    tested = page.partition("## What it is tested with")[2]
    assert promised == {*re.findall(r"3\.\d\d", tested)}
    assert {f"make newest PYTHON=python{one}" in tested for one in promised - {"3.11"}} == {True}


def test_every_requirement_has_a_lower_bound_that_can_be_tried() -> None:
    bare = [
        one
        for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
        for one in lines
        if not one.startswith("discreet[") and ">=" not in one
    ]
    assert bare == []


def test_the_wheel_runs_from_where_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    """Discreet from the wheel; what it depends on is lent by the environment of these tests."""
    python = environment(tmp_path / "empty", str(wheel), "--no-deps")
    lent = {"PATH": "/usr/bin:/bin", "PYTHONPATH": sysconfig.get_path("purelib")}

    def said(*command: str) -> str:
        return subprocess.run(command, cwd=tmp_path, env=lent, capture_output=True, text=True, check=True).stdout

    found = Path(said(str(python), "-c", "import discreet; print(discreet.__file__)").strip())
    assert found.is_relative_to(tmp_path / "empty")
    assert said(str(python.with_name("discreet")), "--version").split()[-1] == discreet.__version__
    assert "Examples:" in said(str(python.with_name("discreet")), "assess", "--help")
