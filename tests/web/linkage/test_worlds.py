"""Two worlds that differ only in hidden characters give the same answers over HTTP, byte for byte, to reviewer and manager."""

from __future__ import annotations

import random
import re
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from discreet.linkage.review.assignments import Limits
from discreet.web import Settings, create_app
from tests.examples import examples
from tests.linkage.test_two_worlds import Person, people_of, renamed
from tests.linkage.worlds import folder_of
from tests.web.client import CHEAP, Browser, Clock, make_accounts, signed_in
from tests.web.linking import Shown, given_out

PAIRS = [(2 * at, 2 * at + 1) for at in range(6)]
ATTRIBUTES = ["given", "family", "born", "sex", "number"]
Click = tuple[int, int, str]
"""Pair, cell, and whether the page's script sends it."""


def told(answer: httpx.Response) -> str:
    """A whole answer; what is new every time, the random names of clicks and of requests and the time of day, is left out."""
    headers = {
        name: value
        for name, value in answer.headers.items()
        if name not in ("set-cookie", "content-length", "x-request-id")
    }
    body = re.sub(r"[0-9a-f]{32}", "NONCE", answer.text)
    body = re.sub(r'"(made|seconds)":("[^"]+"|\d+)', r'"\1":"TIME"', body)
    return f"{answer.status_code} {sorted(headers.items())} {body}"


def session(people: list[Person], clicks: list[Click], *, limit: str) -> tuple[list[str], dict[str, set[str]]]:
    """All that is answered in the course of some clicks, and the characters that were shown."""
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", f"{place}/keys")
        home, _ = folder_of(Path(place) / "people", people, PAIRS)
        settings = Settings(store=f"{place}/store.db", data=Path(place) / "data", clock=Clock(), hashing=CHEAP)
        app = create_app(settings)
        try:
            make_accounts(app)
            project = given_out(app, home.path, limits=Limits.of(limit), name="worlds")
            worker, manager = signed_in(app, "worker"), signed_in(app, "manager")
            at = f"/linkage/{project.id}"
            said = _walk(worker, at, clicks)
            open_ones = _shown(worker, at)
            said += [told(manager.get(path)) for path in ("/linkage", at, f"{at}/zones", "/api/v1" + at)]
            return said, open_ones
        finally:
            app.state.site.close()


def _walk(worker: Browser, at: str, clicks: list[Click]) -> list[str]:
    said = [told(worker.get(f"{at}/pairs/{pair}")) for pair in range(1, 7)]
    for pair, cell, live in clicks:
        page = Shown(worker.get(f"{at}/pairs/{pair}").text)
        said.append(told(worker.post(f"{at}/pairs/{pair}/reveal", page.form(cell, live=live))))
    said += [told(worker.post(f"{at}/pairs/{pair}/decide", {"choice": str(pair)})) for pair in range(1, 7)]
    said.append(told(worker.post(f"{at}/pairs/3/undo")))
    return [
        *said,
        *(told(worker.get(path)) for path in (f"{at}/pairs/3", f"{at}/review", f"{at}/done", "/linkage", "/")),
    ]


def _shown(worker: Browser, at: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"names": set(), "number": set(), "born": set(), "sex": set()}
    for pair in range(1, 7):
        text = worker.get(f"{at}/pairs/{pair}").text
        for place, name in enumerate(ATTRIBUTES):
            row = text.partition(f'id="cell-{place}"')[2].partition("</tr>")[0]
            opened = re.findall(r'<span class="p \w+ open">([^<]*)</span>', row)
            found["names" if name in ("given", "family") else name] |= set("".join(opened)) - set("*@&?-")
    return found


@settings(
    max_examples=examples(4),
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    seed=st.integers(0, 2**32),
    clicks=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 4), st.sampled_from("01")), max_size=5),
    limit=st.sampled_from(["0.05", "1"]),
)
def test_what_is_hidden_changes_no_byte_of_any_answer(seed: int, clicks: list[Click], limit: str) -> None:
    rng = random.Random(seed)
    people = people_of(rng)
    first, shown = session(people, clicks, limit=limit)
    others = renamed(people, rng, shown)
    assert session(others, clicks, limit=limit)[0] == first


def test_the_test_can_fail() -> None:
    people = people_of(random.Random(1))
    clicks: list[Any] = [(pair, 0, live) for pair in (1, 2, 3) for live in "01"]
    others = renamed(people, random.Random(2), {})
    assert session(others, [], limit="1")[0] == session(people, [], limit="1")[0]
    assert session(others, clicks, limit="1")[0] != session(people, clicks, limit="1")[0]
