"""The scores in a policy: TOML that reads back, and a function that says the same."""

from __future__ import annotations

import tomllib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.misuse import Sensitivity
from discreet.misuse.elicitation import Item, sections, toml

names = st.text(min_size=1, max_size=8).filter(lambda name: not any("\ud800" <= letter <= "\udfff" for letter in name))
weights = st.floats(0, 1).map(lambda number: round(number, 3))


@given(
    st.dictionaries(
        names,
        st.tuples(st.dictionaries(names, weights, min_size=1), st.lists(weights, max_size=3), weights),
        min_size=1,
        max_size=3,
    ),
    st.lists(st.text(), max_size=2),
)
def test_what_is_written_is_read(
    tables: dict[str, tuple[dict[str, float], list[float], float]], notes: list[str]
) -> None:
    content = {
        column: {"values": values, "bins": [[10.0 * place, one] for place, one in enumerate(bins)], "otherwise": rest}
        for column, (values, bins, rest) in tables.items()
    }
    assert tomllib.loads(toml(content, notes=notes))["sensitivity"] == content


def test_the_function_says_what_the_experts_said() -> None:
    items = [
        Item("account", "Gold", ("Gold",)),
        Item("account", "metal", ("Silver", "Bronze")),
        Item("account", "any other value"),
        Item("bill", "up to 100", upper=100.0),
        Item("bill", "over 100"),
        Item("state", "ill", ("ill",)),
    ]
    scores = np.array([1.0, 0.55555, 0.25, 0.1, 0.9, 0.7])
    f = Sensitivity.from_dict(sections(items, scores))
    found = [f("account", value) for value in ("Gold", "Silver", "Bronze", "Tin")]
    assert found == [1.0, 0.556, 0.556, 0.25]
    assert (f("bill", 100), f("bill", 101), f("state", "well")) == (0.1, 0.9, 0.7)


def test_the_version_follows_the_content() -> None:
    items = [Item("a", "x", ("x",)), Item("a", "y", ("y",))]
    one, same, other = (Sensitivity.from_dict(sections(items, pair)) for pair in ([0.1, 1], [0.1001, 1], [0.2, 1]))
    assert one.version == same.version
    assert one.version != other.version
    read = Sensitivity.from_dict(tomllib.loads(toml(sections(items, [0.1, 1])))["sensitivity"])
    assert read.version == one.version
