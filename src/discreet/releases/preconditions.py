"""Preconditions of a release, each answer recorded; names of releases and recipients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import Refused, UsageError
from discreet.kernel.serialise import json_of

DECLARATION = "This copy contains control records."
"""What every data-use agreement has to say: the recipient knows that they exist, and not which ones they are."""

LONGEST = 500
"""Characters of an answer, since the ledger holds it."""

AGREEMENT = f"""\
# Data-use agreement

{DECLARATION} They are rows that look like all others and describe nobody. Some rows of the original
are left out as well. Both differ from recipient to recipient, so that the source of a leak or of a re-identification
can be found. Every person who is described by another row is so together with others who look the same.

By using the data you agree that

1. you do not try to find out who the people are, nor link the rows with other data about persons;
2. you do not pass the data on, neither whole nor in part, except as your contract with the provider allows;
3. you do not try to find, remove or change control records, nor compare your copy with that of somebody else to do so;
4. you tell the provider at once if you believe that somebody was recognised or that data were lost;
5. you delete the data when the purpose is reached or the provider asks for it, and confirm that you did.

Control records are few and are drawn so that they hardly change a result; the provider can tell by how much each column
is shifted.
"""


@dataclass(frozen=True)
class Gates:
    """The answers that a release needs.

    >>> Gates(population_source="census 2021, table 4", population_licence="CC BY 4.0", counts_only=True,
    ...       sign_off="DPO-2026-17").check().sign_off
    'DPO-2026-17'
    """

    population_source: str = ""
    """Where the population comes from."""
    population_licence: str = ""
    """What allows its use for this."""
    counts_only: bool = False
    """That only counts of the population are kept, never a row about a person in it."""
    sign_off: str = ""
    """The number or name under which the release was approved in the house."""
    agreement: str = AGREEMENT
    """The text that goes with every copy."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What is still to be given, in words."""
        source, licence, sign_off = (
            bool(answer.strip()) and answer.isprintable() and len(answer) <= LONGEST
            for answer in (self.population_source, self.population_licence, self.sign_off)
        )
        asked = {
            "where the population comes from (population_source)": source,
            "the licence under which it may be used for this (population_licence)": licence,
            "the confirmation that only counts of it are kept (counts_only)": self.counts_only is True,
            "the number under which the release was signed off (sign_off)": sign_off,
        }
        return tuple(words for words, given in asked.items() if not given)

    def check(self) -> Gates:
        """These gates if all of them are open; else a refusal that says what to give."""
        if self.missing:
            raise Refused(
                f"A release needs an answer to everything that is asked; {len(self.missing)} missing or not one line of "
                f"at most {LONGEST} characters.",
                remedy=f"Give {'; '.join(self.missing)}.",
            )
        if not declares(self.agreement):
            raise Refused(
                "The data-use agreement does not say that the copy contains control records.",
                remedy=f'Put this sentence into it, as it is, beside a translation if you like: "{DECLARATION}"',
            )
        return self

    to_dict = json_of()


def declares(agreement: str) -> bool:
    """Whether an agreement says that control records exist, however its lines are broken.

    >>> declares("Dear all,\\nthis copy  contains\\ncontrol records. Yours"), declares("There are no control records.")
    (True, False)
    """
    return " ".join(DECLARATION.casefold().split()) in " ".join(agreement.casefold().split())


def check_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    """Names of releases or recipients that the ledger and folders on any system can hold, no two alike.

    >>> check_names(["Klinik Süd", "lab-2"], "recipient")
    ('Klinik Süd', 'lab-2')
    """
    for name in names:
        plain = name.strip(" .") == name and all(letter.isalnum() or letter in " ._-" for letter in name)
        if not plain or not 1 <= len(name) <= 64:
            raise UsageError(
                f"The name of a {what} has 1 to 64 letters, digits, blanks, dots, dashes and underscores.",
                remedy="It also names a folder; choose a name such as university-1.",
            )
    if len({name.casefold() for name in names}) != len(names):
        raise UsageError(f"Two names of a {what} are the same.", remedy="Give each one a name of its own.")
    return tuple(names)
