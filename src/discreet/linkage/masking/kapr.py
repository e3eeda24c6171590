"""KAPR (k-anonymised privacy risk): contributions of pairs, ledger amounts, and a display with its score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

from discreet.errors import Refused, UsageError
from discreet.kernel import Amount, exact
from discreet.kernel.amounts import parts_down, parts_up
from discreet.kernel.serialise import card
from discreet.linkage.masking.comparison import MODES, Comparison, DateSwap, Kind, Mode
from discreet.linkage.masking.index import Index, Quote, contribution
from discreet.linkage.masking.record_pair import Declared, Pair, State
from discreet.linkage.masking.text import FORMATS, check_name
from discreet.wording import brief_percent, fine_percent

PARTS = 10**9
"""Into so many parts the ledger divides one: a pair is charged less than one part too much."""


@dataclass(frozen=True)
class Meter:
    """The score K = kappa / (2 n D) * sum over rows of (1/k) * (sum of p), for n pairs and D attributes.

    A budget is in *contributions*, which do not depend on n: 1 is one attribute of one record, disclosed in full and
    belonging to nobody else. Each pair counts with its contribution rounded up to a whole number of parts. What is
    spent is therefore always the sum over the pairs as they are now, whatever was opened in which order, and it
    exceeds the exact score by less than `slack`, however many steps there were.

    >>> meter = Meter(pairs=6, attributes=3)
    >>> meter.score([Fraction(27)]), meter.allowance("3/4"), meter.cost(Fraction(0), Fraction(1, 3))
    (Fraction(3, 4), Fraction(27, 1), Fraction(166666667, 500000000))
    """

    pairs: int
    attributes: int
    kappa: int = 1
    parts: int = PARTS

    def __post_init__(self) -> None:
        if self.pairs < 0 or self.attributes < 1 or self.kappa < 1 or self.parts < 1:
            raise UsageError(
                "A meter needs pairs, at least one attribute, and a kappa and parts of at least 1.",
                remedy="Meter(pairs=36, attributes=6)",
            )

    @property
    def scale(self) -> Fraction:
        """What a contribution of 1 adds to the score."""
        return Fraction(self.kappa, 2 * self.pairs * self.attributes) if self.pairs else Fraction(0)

    def score(self, contributions: Iterable[Fraction]) -> Fraction:
        """The score of a display with these pairs, exactly."""
        return self.scale * sum(contributions, start=Fraction(0))

    def price(self, before: Fraction, after: Fraction) -> Fraction:
        """By how much the score rises when a pair's contribution does, exactly."""
        return self.scale * (after - before)

    def check(self, anonymity: Iterable[int]) -> None:
        """Refuse a step that would leave fewer than kappa compatible base records of a row."""
        least = min(anonymity)
        if least < self.kappa:
            raise Refused(
                f"This would leave {least} compatible base records, fewer than the {self.kappa} that must remain.",
                remedy="Open another attribute, or decide with what is seen.",
            )

    def amount(self, contribution: Fraction) -> Fraction:
        """A contribution rounded up to whole parts: what a pair takes of the budget."""
        return Fraction(parts_up(contribution, self.parts), self.parts)

    def cost(self, before: Fraction, after: Fraction) -> Fraction:
        """What a step from one contribution to another is charged: whole parts, so that nothing is rounded again."""
        return self.amount(after) - self.amount(before)

    def allowance(self, limit: Amount) -> Fraction:
        """The budget for a limit of the score, rounded down to whole parts."""
        if not self.pairs:
            return Fraction(0)
        return Fraction(parts_down(exact(limit) / self.scale, self.parts), self.parts)

    def spent(self, amount: Fraction) -> Fraction:
        """The score of an amount spent; at most `slack` above the exact one."""
        return self.scale * amount

    @property
    def slack(self) -> Fraction:
        """By how much what is spent may exceed the exact score, at most: kappa / (2 D parts)."""
        return self.scale * self.pairs / self.parts


class Display:
    """Pairs of base records on show. Immutable: opening a cell gives another display.

    The score (k-anonymised privacy risk) is K = kappa / (2 n D) * sum over rows of (1/k) * (sum of p), where p is the
    share of an attribute's characters that is disclosed and k the number of base records compatible with the row.

    >>> people = [{"name": "Mary"}, {"name": "Mark"}, {"name": "Mary"}]
    >>> display = Display(people, kinds={"name": "string"}, pairs=[(0, 1)])
    >>> display.next_mode(0, "name"), display.price(0, "name")
    ('partial', Fraction(3, 16))
    >>> display.open(0, "name", "partial")
    Display(1 pair, 3 base records, 1 attribute, score 3/16)
    """

    index: Index
    meter: Meter
    """Turns contributions of pairs into the score, and into amounts for a ledger."""
    strict: bool
    _pairs: tuple[Pair, ...]
    _states: tuple[State, ...]
    _known: dict[tuple[int, State, bool], tuple[int, int]]

    def __init__(
        self,
        records: Any,
        kinds: Mapping[str, Kind] | None = None,
        pairs: Iterable[tuple[int, int]] = (),
        kappa: int = 1,
        *,
        swaps: Iterable[tuple[str, str]] = (),
        formats: Declared = FORMATS,
        normalise: Declared = (),
        names: Iterable[str] = (),
        date_swap: DateSwap = "digits",
        strict: bool = False,
    ) -> None:
        """Show pairs of `records`, all masked; `records` may also be an `Index`, which holds the other settings.

        `swaps` names columns that may have been exchanged, `formats` how dates are written, `normalise` what is done to
        values first, `names` the attributes beside which it is shown how common a value is, `date_swap` whether an
        exchange of day and month shows their differing digits or both whole. With `strict`, prices and `kappa` count
        what the masked display itself gives away.
        """
        if isinstance(records, Index):
            index = records
        else:
            settings: dict[str, Any] = {"swaps": swaps, "formats": formats, "normalise": normalise}
            index = Index.build(records, kinds or {}, **settings, names=names, date_swap=date_swap)
        shown = tuple(index.pair(int(first), int(second)) for first, second in pairs)
        meter = Meter(len(shown), len(index.columns), kappa)
        states = tuple(pair.masked for pair in shown)
        self.__dict__.update(index=index, meter=meter, strict=strict, _pairs=shown, _states=states, _known={})

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("A display does not change; opening a cell gives another one.")

    @property
    def kappa(self) -> int:
        """How many compatible base records must remain."""
        return self.meter.kappa

    def cell(self, pair: int, attribute: str) -> Comparison:
        """The pair of values of an attribute."""
        return self._at(pair)[0].cell(attribute)

    def mode(self, pair: int, attribute: str) -> Mode:
        """The mode in which a cell is."""
        shown, state = self._at(pair)
        return state[shown.place(attribute)]

    def text(self, pair: int, attribute: str) -> tuple[str, str]:
        """What is seen of both values."""
        return self.cell(pair, attribute).text(self.mode(pair, attribute))

    def next_mode(self, pair: int, attribute: str) -> Mode | None:
        """What the next step opens: partial, full, or None where all is open."""
        shown, state = self._at(pair)
        return shown.next_mode(state, attribute)

    def open(self, pair: int, attribute: str, mode: Mode) -> Display:
        """The display with a cell open in a mode; refused where k would fall below kappa."""
        shown, state = self._at(pair)
        return self._with({pair: shown.opened(state, attribute, mode)})

    def open_all(self, mode: Mode) -> Display:
        """The display with every cell open in a mode; cells without a partial mode stay as they are."""
        check_name("mode", mode, MODES)
        shown = zip(self._pairs, self._states, strict=True)
        return self._with({place: pair.all_opened(state, mode) for place, (pair, state) in enumerate(shown)})

    def price(self, pair: int, attribute: str) -> Fraction:
        """By how much the next step raises the score; 0 where there is none. Prices of several steps do not add up."""
        self._at(pair)[0].place(attribute)
        return self.meter.scale * self.quote(pair).increase(attribute)

    def quote(self, pair: int) -> Quote:
        """What a pair discloses, and what each next step leads to."""
        return self.index.quote(*self._at(pair), strict=self.strict)

    @cached_property
    def anonymity(self) -> tuple[int, ...]:
        """Compatible base records per row: row 1 and row 2 of each pair, in order."""
        return self._anonymity(strict=False)

    @cached_property
    def score(self) -> Fraction:
        """The k-anonymised privacy risk of what is shown, from 0 to 1."""
        return self._score(strict=False)

    @cached_property
    def strict_anonymity(self) -> tuple[int, ...]:
        """Compatible records where lengths, icons, agreement and frequency of names count as disclosed."""
        return self._anonymity(strict=True)

    @cached_property
    def strict_score(self) -> Fraction:
        """The score by the strict anonymity."""
        return self._score(strict=True)

    @cached_property
    def characters(self) -> Fraction:
        """The share of all characters that is disclosed."""
        shown = sum(pair.disclosed(state) for pair, state in zip(self._pairs, self._states, strict=True))
        return Fraction(shown, sum(pair.characters for pair in self._pairs) or 1)

    def __len__(self) -> int:
        return len(self._pairs)

    def _repr_html_(self) -> str:
        rows = [("Pairs", len(self)), ("Base records", f"{len(self.index):,}"), ("Privacy risk (KAPR)", fine_percent(float(self.score))),
                ("Characters shown", brief_percent(float(self.characters))), ("Least compatible records", min(self.anonymity, default=0))]  # fmt: skip
        return card("What the display of these pairs discloses; values are shown by opening cells, not here.", rows)

    def __repr__(self) -> str:
        pairs, attributes = len(self), len(self.index.columns)
        return (
            f"Display({pairs} pair{'s' * (pairs != 1)}, {len(self.index)} base records, "
            f"{attributes} attribute{'s' * (attributes != 1)}, score {self.score})"
        )

    def _at(self, pair: int) -> tuple[Pair, State]:
        if not 0 <= pair < len(self):
            raise UsageError(f"There is no pair {pair}.", remedy=f"There are {len(self)}, counted from 0.")
        return self._pairs[pair], self._states[pair]

    def _with(self, states: Mapping[int, State]) -> Display:
        other = object.__new__(Display)
        changed = tuple(states.get(place, state) for place, state in enumerate(self._states))
        settings = {name: self.__dict__[name] for name in ("index", "meter", "strict", "_pairs", "_known")}
        other.__dict__.update(settings, _states=changed)
        for place, (before, after) in enumerate(zip(self._states, changed, strict=True)):
            if self.kappa > 1 and before != after:
                self.meter.check(other._anonymity_of(place, strict=self.strict))
        return other

    def _anonymity_of(self, pair: int, *, strict: bool) -> tuple[int, int]:
        key = (pair, self._states[pair], strict)
        if key not in self._known:
            self._known[key] = self.index.anonymity(*self._at(pair), strict=strict)
        return self._known[key]

    def _anonymity(self, *, strict: bool) -> tuple[int, ...]:
        return tuple(k for pair in range(len(self)) for k in self._anonymity_of(pair, strict=strict))

    def _score(self, *, strict: bool) -> Fraction:
        return self.meter.score(
            contribution(*self._at(pair), self._anonymity_of(pair, strict=strict)) for pair in range(len(self))
        )
