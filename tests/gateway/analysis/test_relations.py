"""Texts that name no governed relation pass without being read further; none that names one does."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from discreet.gateway.analysis.relations import Relation, Relations
from discreet.gateway.analysis.statements import asked

NAMES = ["patients", 'Odd "one"', "straße", "a.b"]
RELATIONS = Relations.of(Relation(oid, "clinic", name, "r", {}, leads=True) for oid, name in enumerate(NAMES))
QUOTED = ['"' + name.replace('"', '""') + '"' for name in NAMES]
PIECES = [
    *["patients", "PATIENTS", "Patients", "clinic", "clinic.patients", "places", *QUOTED, 'U&"pat\\0069ents"', 'u&"x"'],
    *[
        "select",
        "insert into",
        "close",
        "declare",
        "fetch",
        "show",
        "discreet.exposure",
        "cursor for",
        "from",
        "*",
        "1",
    ],
    *["'patients'", "$$ patients $$", "--", "/* patients */", "\n", ";", "(", ")", ",", "E'\\\\'", '"', "'", "$1"],
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join))
@example('select * from "clinic"."Odd ""one"""')
@example("FETCH 3 FROM c")
@example("show discreet.exposure")
def test_no_text_that_matters_is_overlooked(text: str) -> None:
    ask = asked(text)
    if ask.mentions & RELATIONS.names or ask.kind in ("fetch", "close", "show", "declare"):
        assert RELATIONS.may_concern(text)


def test_ordinary_texts_need_not_be_read() -> None:
    for text in ("SELECT abalance FROM pgbench_accounts WHERE aid = 7", "BEGIN", "SET x = 1", "SHOW TimeZone"):
        assert not RELATIONS.may_concern(text)
    assert not Relations.of([]).may_concern("SELECT 1")
