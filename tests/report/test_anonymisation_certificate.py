"""The certificate: parts add up to all combinations, whatever the search."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from discreet.anonymity import Certificate
from discreet.report.anonymisation_charts import certificate, fates_of
from tests.report.anonymisation_samples import KINDS
from tests.report.documents import markup_of

FOUND = {kind: case.result.certificate for kind, case in KINDS.items() if case.result.certificate is not None}


@pytest.mark.parametrize("kind", FOUND)
def test_parts_add_up(kind: str) -> None:
    fates = fates_of(FOUND[kind])
    assert sum(fate.number for fate in fates) == FOUND[kind].nodes
    assert all(fate.number >= 0 for fate in fates)


@pytest.mark.parametrize("kind", FOUND)
def test_the_bar_is_as_long_as_the_whole(kind: str) -> None:
    shown = certificate(FOUND[kind])
    pieces = re.findall(r'x="([\d.]+)%" y="0" width="([\d.]+)%"', markup_of(shown))
    ends = [float(x) + float(width) for x, width in pieces]
    assert max(ends) == pytest.approx(100, abs=0.5)
    assert float(pieces[0][0]) == 0


def test_a_sliver_is_seen_and_stays_inside() -> None:
    tiny = Certificate("optimal", 100_000, 1, 0, 99_999, 0.5, 0.5, optimal=True)
    shown = certificate(tiny)
    pieces = re.findall(r'x="([\d.]+)%" y="0" width="([\d.]+)%"', markup_of(shown))
    assert pieces[0] == ("0", "0.4")
    last = certificate(replace(tiny, too_much_suppressed=99_998, too_costly=1))
    x, width = re.findall(r'x="([\d.]+)%" y="0" width="([\d.]+)%"', markup_of(last))[-1]
    assert float(x) + float(width) <= 100


def test_only_a_proof_is_called_one() -> None:
    assert certificate(FOUND["optimal"]).title == "Why nothing better exists"
    assert certificate(FOUND["stopped"]).title == "What the search looked at"
    assert "The search was stopped" in " ".join(certificate(FOUND["stopped"]).reading)
    assert "nothing is proven" in " ".join(certificate(FOUND["ola"]).reading)


def test_parts_differ_in_more_than_colour() -> None:
    shown = certificate(FOUND["optimal"])
    markup = markup_of(shown)
    assert "url(#certificate-ruled)" in markup
    assert '<pattern id="certificate-ruled"' in markup
    assert {fate.fill for fate in fates_of(FOUND["optimal"])} == {"counted", "ruled", "open"}
