"""Finding the line of a key."""

from __future__ import annotations

import pytest

from discreet.errors import PolicyError
from discreet.policy import Policy
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


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('{ mask = 5, any = "*" }', "'columns.zip.hierarchy' has two rules. A hierarchy is one rule; remove any"),
        ('{ cuts = ["a"] }', "'columns.zip.hierarchy.cuts.0': input should be"),
        ("{ widths = [] }", "'columns.zip.hierarchy.widths': list should have at least 1 item, not 0."),
        ("{ mask = 5, maks = 4 }", "unknown key 'columns.zip.hierarchy.maks'. Did you mean 'mask'?"),
    ],
)
def test_a_wrong_hierarchy_is_named_without_the_words_of_a_library(rule: str, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.parse(f'[columns.zip]\nrole = "quasi"\nhierarchy = {rule}\n')
    assert said in str(caught.value)
