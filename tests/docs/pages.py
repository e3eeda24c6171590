"""The pages of the documentation, the blocks of code in them, and which page goes on from which."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
GOES_ON = re.compile(r"^<!-- goes on from (\S+) -->$", re.MULTILINE)


def name(page: Path) -> str:
    """How a page is called in tests: its path below the project."""
    return page.relative_to(ROOT).as_posix()


def blocks(language: str) -> list[tuple[str, str]]:
    """All blocks of a language, each with the name of its page."""
    return [(name(page), block) for page in PAGES for block in blocks_of(page, language)]


def blocks_of(page: Path, language: str) -> list[str]:
    """The blocks of a language in one page, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def stories() -> list[list[Path]]:
    """Pages with commands, in chains: a page that goes on from another runs after it, in the same folder."""
    told = {page: GOES_ON.search(page.read_text(encoding="utf-8")) for page in PAGES if blocks_of(page, "console")}
    before = {page: (page.parent / found[1]).resolve() for page, found in told.items() if found}
    chains: dict[Path, list[Path]] = {page: [page] for page in told if page not in before}
    for page in sorted(before, key=lambda page: _depth(page, before)):
        chains[_first(page, before)].append(page)
    return list(chains.values())


def _first(page: Path, before: dict[Path, Path]) -> Path:
    return _first(before[page], before) if page in before else page


def _depth(page: Path, before: dict[Path, Path]) -> int:
    return 1 + _depth(before[page], before) if page in before else 0
