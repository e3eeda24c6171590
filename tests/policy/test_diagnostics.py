"""Finding the line of a key."""

from __future__ import annotations

import pytest

from discreet.policy.diagnostics import line_of

TEXT = """\
# a comment = with a sign
[data]
count = "n"

[ columns . zip ]
role = "quasi"
[columns."a.b"]
role = 'other'
hierarchy = { mask = 5 }
[columns]
x.role = "quasi"
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (["data"], 2),
        (["data", "count"], 3),
        (["columns", "zip", "role"], 6),
        (["columns", "a.b", "role"], 8),
        (["columns", "a.b", "hierarchy", "mask"], 9),
        (["columns", "x", "role"], 11),
        (["columns", "zip", "nothing"], 5),
        (["nowhere"], None),
    ],
)
def test_the_longest_written_part_of_a_key_is_found(key: list[str], line: int | None) -> None:
    assert line_of(TEXT, key) == line
