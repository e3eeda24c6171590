"""Edits change what they should and nothing else, whatever a policy looks like."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.policy import Draft, Policy, write_draft
from discreet.policy.draft import Change, confirmed, edited, value, written

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8)
RULES: list[Any] = [None, {"mask": 5}, {"widths": [5, 10]}, {"any": "*"}, {"dates": ["year"]}]
CHANGES = st.builds(Change, st.sampled_from(["identifier", "quasi", "sensitive", "other"]), st.sampled_from(RULES))


def meant(change: Change) -> dict[str, Any]:
    return {"role": change.role, **({} if change.hierarchy is None else {"hierarchy": change.hierarchy})}


@given(st.dictionaries(NAMES, CHANGES, min_size=1, max_size=5), st.data())
def test_an_edit_changes_what_it_should_and_nothing_else(before: dict[str, Change], data: st.DataObject) -> None:
    source = written({"data": {"delimiter": ";"}, "columns": {name: meant(one) for name, one in before.items()}})
    names = st.one_of(st.sampled_from(list(before)), NAMES)
    after = data.draw(st.dictionaries(names, CHANGES, max_size=4))
    found = tomllib.loads(edited(source, after))
    assert found["data"] == {"delimiter": ";"}
    assert found["columns"] == {name: meant(one) for name, one in {**before, **after}.items()}


def test_comments_and_order_stay() -> None:
    draft = write_draft([Draft("zip", "quasi", "its name says 'zip'", "{ mask = 5 }"), Draft("job", "other", "why")])
    text = edited(draft, {"job": Change("quasi", {"any": "*"}), "zip": Change("quasi", {"mask": 5})})
    assert text.startswith(draft.splitlines()[0])
    assert "# its name says 'zip'" in text
    assert "# why" in text
    assert Policy.parse(text).quasi == ("zip", "job")


@pytest.mark.parametrize(
    "source",
    [
        'columns = { zip = { role = "other" } }',
        'columns.zip.role = "other"',
        '[columns]\nzip = { role = "other", hierarchy = { widths = [\n5, 10] } }',
        '[columns.zip]\nrole = """other"""',
        '[columns.zip]\n"role" = "other"\nhierarchy = { widths = [5,\n10] }',
        "",
    ],
)
def test_odd_layouts_are_written_anew_rather_than_wrong(source: str) -> None:
    found = tomllib.loads(edited(source, {"zip": Change("quasi", {"mask": 5})}))
    assert found["columns"] == {"zip": {"role": "quasi", "hierarchy": {"mask": 5}}}


def test_a_change_to_nothing_removes_the_hierarchy() -> None:
    text = edited('[columns.zip]\nrole = "quasi"\nhierarchy = { mask = 5 }\n', {"zip": Change("other")})
    assert tomllib.loads(text) == {"columns": {"zip": {"role": "other"}}}


ROLES = st.sampled_from(["identifier", "quasi", "sensitive", "other", "drop"])
LAYOUTS = [
    '[columns.{key}]\nrole = "{role}"  # "{guess}", or quasi?\n',
    "[columns.{key}] # {guess}\r\nhierarchy = {{ any = 'quasi?' }}\r\nrole\t=  '{role}'\r\n",
    'columns.{key}.role = """{role}"""\n',
    'columns.{key} = {{ hierarchy = {{ any = "{guess}" }}, role = "{role}" }}  # drop?\n',
]


@given(
    st.dictionaries(st.one_of(NAMES, st.sampled_from(["quasi?", "a.quasi?", "role"])), ROLES, min_size=1, max_size=6),
    st.sampled_from(LAYOUTS),
    st.data(),
)
def test_a_confirmation_removes_question_marks_and_nothing_else(
    roles: dict[str, str], layout: str, data: st.DataObject
) -> None:
    def text(*without: str) -> str:
        spelled = {name: role if name in without else f"{role}?" for name, role in roles.items()}
        return "".join(layout.format(key=value(name), role=spelled[name], guess=f"{roles[name]}?") for name in roles)

    names = data.draw(st.lists(st.sampled_from(list(roles)), unique=True))
    assert confirmed(text(), names) == text(*names)


def test_a_role_that_is_spelled_by_escapes_is_left_to_its_author() -> None:
    with pytest.raises(UsageError, match="by hand"):
        confirmed('[columns.zip]\nrole = "quasi\\u003f"', ["zip"])
