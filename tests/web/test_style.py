"""The application's part of the style sheet: enough contrast, one system with the reports, nothing from elsewhere."""

from __future__ import annotations

import re

import pytest

from discreet.report.toolkit.page import stylesheet
from discreet.web.framework.shared_state import FOLDER, assets
from tests.report.toolkit.test_style import contrast

SHEET = (FOLDER / "static" / "app.css").read_text(encoding="utf-8")


def tokens(scheme: str) -> dict[str, str]:
    """The colours of a scheme: those of the reports, and what the application adds."""
    place = ("light", "dark").index(scheme)
    found = [re.findall(r":root \{(.*?)\}", sheet, re.S)[place] for sheet in (stylesheet(), SHEET)]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", "".join(found)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        ("caution", "paper", 4.5),
        ("caution", "sheet", 4.5),
        ("on-accent", "accent", 4.5),
        ("on-accent", "danger", 4.5),
        ("ink", "track", 4.5),
        ("field", "sheet", 3),
        ("field", "paper", 3),
    ],
)
def test_contrast(scheme: str, one: str, other: str, least: float) -> None:
    colours = tokens(scheme)
    assert contrast(colours[one], colours[other]) >= least


def test_every_colour_that_is_used_exists() -> None:
    used = set(re.findall(r"var\(--([\w-]+)\)", SHEET))
    assert used <= set(tokens("light"))
    assert set(tokens("light")) == set(tokens("dark"))


def test_nothing_comes_from_elsewhere_and_reports_share_the_sheet() -> None:
    whole = assets()["style.css"][0].decode()
    assert whole.startswith(stylesheet())
    assert not re.search(r"url\(|@import|https?:|</", whole)


SPACED = re.compile(r"(?:margin|padding)(?:-\w+)?\s*:\s*([^;}]*)|(?:row-|column-)?gap\s*:\s*([^;}]*)")


def test_spaces_are_of_one_scale() -> None:
    """Margins, paddings and gaps in pixels; what is given in other units follows the text."""
    scale = {"0", "1", "2", "4", "8", "12", "16", "24", "32", "48"}
    for sheet in (FOLDER / "static").glob("*.css"):
        spaces = [one or other for one, other in SPACED.findall(sheet.read_text(encoding="utf-8"))]
        used = {number for space in spaces for number in re.findall(r"(\d+(?:\.\d+)?)px", space)}
        assert used <= scale, sheet.name
