"""The style sheet: enough contrast in light, dark and print, and nothing from elsewhere."""

from __future__ import annotations

import re

import pytest

from discreet.report.toolkit.page import stylesheet

SCHEMES = ("light", "dark", "print")


def tokens(scheme: str) -> dict[str, str]:
    """The colours of a scheme."""
    blocks = re.findall(r":root \{(.*?)\}", stylesheet(), re.S)
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", blocks[SCHEMES.index(scheme)]))


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("text", ["ink", "quiet", "accent", "good", "danger"])
@pytest.mark.parametrize("ground", ["paper", "sheet"])
def test_text_has_contrast(scheme: str, text: str, ground: str) -> None:
    colours = tokens(scheme)
    assert contrast(colours[text], colours[ground]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("accent", "sheet"),
        ("accent", "track"),
        ("accent", "paper"),
        ("danger", "track"),
        ("danger", "stripe"),
        ("ink", "sheet"),
    ],
)
def test_graphics_have_contrast(scheme: str, one: str, other: str) -> None:
    colours = tokens(scheme)
    assert contrast(colours[one], colours[other]) >= 3


def test_every_scheme_has_every_colour_that_is_used() -> None:
    used = set(re.findall(r"var\(--(\w+)\)", stylesheet()))
    for scheme in SCHEMES:
        assert used == set(tokens(scheme))


def test_nothing_comes_from_elsewhere() -> None:
    assert not re.search(r"url\(|@import|https?:|</", stylesheet())
