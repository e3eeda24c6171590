"""Audit of who sets: how much all answers together narrow down what is known about one person.

Each answer is a noised sum over the people of a set. Taken as a linear observation with Gaussian noise, the answers reduce
the variance of person i's value by the share m' (M M' + ratio I)^-1 m, where M has one row per answer and one column per
person, m is the column of i, and the ratio is the variance of the noise to that of the attribute. No sensitive value is in
it: the person who asks could compute it, so that a refusal tells nothing.

People who were in the same sets are one atom. Knowing an atom of w people as a whole says 1 / w about each of them, and k
answers about a person say at most k / (k + ratio): only people for whom both are large need the matrix.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Flags, Floats, Ints

Marks = NDArray[np.uint64]
CHUNK = 4096
EXACT_CELLS = 3_000
"""With more cells than that, the bounds take the place of the matrix."""


@dataclass(frozen=True, eq=False)
class AskedSet:
    """People of one cell, and how many answers about them are asked for."""

    people: Marks
    times: int = 1
    """Answers with noise of their own."""
    singled: int = 0
    """Answers that count as if the values of all other people were known."""
    shares: Floats | None = None
    """Of each person, the rows that count divided by the most that could; one where absent."""

    @cached_property
    def ordered(self) -> tuple[Marks, Floats]:
        """People in order, and their shares."""
        if self.shares is None or not bool((self.shares != 1).any()):
            return np.sort(self.people), np.ones(len(self.people))
        order = np.argsort(self.people, kind="stable")
        return self.people[order], self.shares[order]

    @cached_property
    def name(self) -> bytes:
        """Names the set by its people: sixteen bytes."""
        people, shares = self.ordered
        digest = hashlib.sha256(people.tobytes())
        if bool((shares != 1).any()):
            digest.update(shares.astype(np.float32).tobytes())
        return digest.digest()[:16]

    def counted(self, *, times: int, singled: int) -> AskedSet:
        """The same people, and so many answers."""
        found = replace(self, times=times, singled=singled)
        found.__dict__.update(ordered=self.ordered, name=self.name)  # sorted and hashed once
        return found


def _no_marks() -> Marks:
    return np.zeros(0, dtype=np.uint64)


def _no_ints() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class WhoAudit:
    """All who sets of one account and attribute; asking gives a new one, and never lowers what is known.

    >>> everybody = np.arange(100, dtype=np.uint64)
    >>> audit = WhoAudit(ratio=48.0).asked([AskedSet(everybody), AskedSet(everybody[1:])])
    >>> round(audit.reduction, 4), round(audit.of(0), 4), round(audit.of(7), 4)
    (0.0123, 0.0123, 0.0081)
    """

    ratio: float
    people: Marks = field(default_factory=_no_marks, repr=False)
    """Everybody who was in a set, sorted."""
    atom: Ints = field(default_factory=_no_ints, repr=False)
    """Atom of each of them."""
    weight: Ints = field(default_factory=_no_ints, repr=False)
    """People of each atom."""
    member: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64), repr=False)
    """Sets that each atom is in, -1 for none."""
    share: Floats = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    names: tuple[bytes, ...] = field(default=(), repr=False)
    times: Ints = field(default_factory=_no_ints, repr=False)
    """Answers about each set."""
    singled: Ints = field(default_factory=_no_ints, repr=False)
    before: tuple[int, Floats] | None = field(default=None, repr=False)
    """Number of sets and overlaps of the audit that this one continues, while nobody was singled out."""

    # -- asking -------------------------------------------------------------------------------------------------

    def asked(self, sets: Sequence[AskedSet]) -> WhoAudit:
        """With further answers; sets of nobody tell nothing."""
        number = {name: place for place, name in enumerate(self.names)}
        new: list[AskedSet] = []
        for one in sets:
            if len(one.people) and one.name not in number:
                number[one.name] = len(number)
                new.append(one)
        grown = self._with_sets(new)
        times, singled = grown.times.copy(), grown.singled.copy()
        for one in sets:
            if len(one.people):
                times[number[one.name]] += one.times
                singled[number[one.name]] += one.singled
        same = not self.singled.any() and not singled.any() and "overlaps" in self.__dict__
        before = (len(self.names), self.overlaps) if same else None
        return replace(grown, times=times, singled=singled, before=before)

    def _with_sets(self, sets: Sequence[AskedSet]) -> WhoAudit:
        """With sets about which nothing was answered yet: atoms are divided by them."""
        if not sets:
            return self
        people, who = _placed(self.people, np.concatenate([one.ordered[0] for one in sets]))
        # Everybody starts in their old atom; newcomers in atom 0, which is in no set.
        atom = self.atom + 1
        if len(people) > len(self.people):
            atom = np.zeros(len(people), dtype=np.int64)
            atom[np.searchsorted(people, self.people)] = self.atom + 1
        member = np.vstack([np.full((1, self.member.shape[1]), -1, dtype=np.int64), self.member])
        share = np.vstack([np.zeros((1, self.share.shape[1])), self.share])
        first = len(self.names)
        cells = np.repeat(np.arange(first, first + len(sets)), [len(one.people) for one in sets])
        shares = np.concatenate([one.ordered[1] for one in sets])
        for chosen in _once_each(who, len(people)):
            atom, member, share = _divide(atom, member, share, who[chosen], cells[chosen], shares[chosen])
        weight = np.bincount(atom, minlength=len(member)).astype(np.int64)
        kept = weight > 0
        atom = (np.cumsum(kept) - 1)[atom]
        nothing = np.zeros(len(sets), dtype=np.int64)
        return replace(
            self,
            people=people,
            atom=atom,
            weight=weight[kept],
            member=member[kept],
            share=share[kept],
            names=(*self.names, *(one.name for one in sets)),
            times=np.append(self.times, nothing),
            singled=np.append(self.singled, nothing),
        )

    # -- what is known ------------------------------------------------------------------------------------------

    @cached_property
    def reduction(self) -> float:
        """Largest share of the uncertainty about anybody that the answers have removed."""
        best = 0.0
        bound = self.bounds
        for start, order in _chunks(np.argsort(-bound, kind="stable")):
            if start and bound[order[0]] <= best:
                break
            best = max(best, float(self._exact(order).max(initial=0.0)))
        return best

    def within(self, limit: float) -> bool:
        """Whether nobody's uncertainty is reduced by more than that."""
        risky = np.flatnonzero(self.bounds > limit)
        return all(bool((self._exact(order) <= limit).all()) for _, order in _chunks(risky))

    def alone_within(self, limit: float) -> bool:
        """Whether an attacker who knows everybody else has less than that removed of the uncertainty about anybody.

        Answers about one group, each about other values, say together what its people have: only their number bounds that.
        """
        return bool((self._apart <= limit + 1e-9).all())

    def of(self, person: int) -> float:
        """What the answers have removed of the uncertainty about one person."""
        place = int(np.searchsorted(self.people, np.uint64(person)))
        if place == len(self.people) or int(self.people[place]) != person:
            return 0.0
        return float(self._exact(self.atom[place : place + 1])[0])

    @cached_property
    def bounds(self) -> Floats:
        """Upper bounds, per atom: as if all other people were known, and as if the atom as a whole were."""
        alone = 1.0 / (1.0 + self._singled() / self.ratio)
        together = 1.0 - alone + alone / np.maximum(self.weight, 1)
        found: Floats = np.minimum(self._apart, together)
        return found

    @cached_property
    def _apart(self) -> Floats:
        """Per atom, as if all other people were known."""
        answers = np.append(self.times + self.singled, 0)
        about = (self.share**2 * answers[self.member]).sum(axis=1)
        found: Floats = about / (about + self.ratio)
        return found

    def _singled(self) -> Floats:
        """Per atom, answers that single its people out."""
        found: Floats = (self.share**2 * np.append(self.singled, 0)[self.member]).sum(axis=1)
        return found

    @cached_property
    def overlaps(self) -> Floats:
        """M M', where each person counts by the uncertainty that was left to them."""
        number = len(self.names)
        found = np.zeros((number, number))
        first = 0
        if self.before is not None:
            first = self.before[0]
            found[:first, :first] = self.before[1]
        value = self.weight / (1.0 + self._singled() / self.ratio)
        flat = np.zeros(number * number)
        slots = self.member.shape[1]
        for one in range(slots):
            rows = np.flatnonzero(self.member[:, one] >= first)
            if not len(rows):
                continue
            mine, weight = self.member[rows, one], self.share[rows, one] * value[rows]
            for other in range(one + 1):  # sets stand in the order in which they were asked
                keys = mine * number + self.member[rows, other]
                added = np.bincount(keys, weights=weight * self.share[rows, other]) if len(rows) > number else None
                if added is not None:
                    flat[: len(added)] += added
                else:
                    np.add.at(flat, keys, weight * self.share[rows, other])
        lower = flat.reshape(number, number)
        found += lower + np.tril(lower, -1).T
        return found

    @cached_property
    def _inverse(self) -> tuple[Ints, Floats]:
        """Place of each set among those with answers (-1: none), and (M M' + R)^-1 over these."""
        active = np.flatnonzero(self.times > 0)
        place = np.full(len(self.names) + 1, -1, dtype=np.int64)
        place[active] = np.arange(len(active))
        matrix = self.overlaps[np.ix_(active, active)] + np.diag(self.ratio / self.times[active])
        inverse: Floats = np.linalg.inv(matrix).astype(np.float64)
        return place, inverse

    def _exact(self, atoms: Ints) -> Floats:
        """The reduction for the people of some atoms."""
        if len(self.names) > EXACT_CELLS:
            return self.bounds[atoms]
        place, inverse = self._inverse
        vectors = np.zeros((len(atoms), len(inverse) + 1))
        where = place[self.member[atoms]]
        np.put_along_axis(vectors, np.where(where < 0, len(inverse), where), self.share[atoms], axis=1)
        vectors = vectors[:, :-1]
        left = 1.0 / (1.0 + self._singled()[atoms] / self.ratio)
        told = np.einsum("ij,ij->i", vectors @ inverse, vectors)
        found: Floats = 1.0 - left + left**2 * told
        return found

    # -- keeping ------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """All but the people, for the store."""
        stream = io.BytesIO()
        np.savez(
            stream,
            ratio=np.array([self.ratio]),
            atom=self.atom.astype(np.int32),
            member=self.member.astype(np.int32),
            share=self.share.astype(np.float32),
            names=np.frombuffer(b"".join(self.names), dtype=np.uint8),
            times=self.times,
            singled=self.singled,
        )
        return zlib.compress(stream.getvalue(), 1)

    @classmethod
    def from_bytes(cls, content: bytes, people: bytes, *, ratio: float) -> WhoAudit:
        """What was stored, under the ratio that holds now.

        Answers given with less noise than there is now count as several; given with more, as one all the same.
        """
        with np.load(io.BytesIO(zlib.decompress(content)), allow_pickle=False) as stored:
            arrays: dict[str, Any] = {name: stored[name] for name in stored.files}
        factor = max(1.0, ratio / float(arrays["ratio"][0]))
        names = arrays["names"].tobytes()
        atom, member = arrays["atom"].astype(np.int64), arrays["member"].astype(np.int64)
        return cls(
            ratio,
            np.frombuffer(people, dtype=np.uint64),
            atom,
            np.bincount(atom, minlength=len(member)).astype(np.int64),
            member,
            arrays["share"].astype(np.float64),
            tuple(names[start : start + 16] for start in range(0, len(names), 16)),
            np.ceil(arrays["times"] * factor).astype(np.int64),
            np.ceil(arrays["singled"] * factor).astype(np.int64),
        )


def _placed(people: Marks, marks: Marks) -> tuple[Marks, Ints]:
    """People with newcomers, in order, and the place of each mark among them."""
    if len(people):
        place = np.searchsorted(people, marks)
        newcomers = marks[people[np.minimum(place, len(people) - 1)] != marks]
        if not len(newcomers):
            return people, place
        marks_new = np.sort(newcomers, kind="stable")
    else:
        marks_new = np.sort(marks, kind="stable")
    marks_new = marks_new[np.append(True, marks_new[1:] != marks_new[:-1])]
    people = np.sort(np.concatenate([people, marks_new]), kind="stable")
    return people, np.searchsorted(people, marks)


def _once_each(who: Ints, number: int) -> list[Flags]:
    """Rows in rounds, so that nobody comes twice in one; the rows are in the order of their sets."""
    if int(np.bincount(who, minlength=number).max()) <= 1:
        return [np.ones(len(who), dtype=np.bool_)]
    order = np.argsort(who, kind="stable")
    ordered = who[order]
    first = np.maximum.accumulate(np.where(np.append(True, ordered[1:] != ordered[:-1]), np.arange(len(who)), 0))
    rank = np.empty(len(who), dtype=np.int64)
    rank[order] = np.arange(len(who)) - first
    return [rank == place for place in range(int(rank.max()) + 1)]


def _divide(
    atom: Ints, member: Ints, share: Floats, who: Ints, cells: Ints, shares: Floats
) -> tuple[Ints, Ints, Floats]:
    """Atoms divided by one more set per person, at most."""
    if bool((shares == 1).all()):
        values, kind = np.ones(1), np.zeros(len(shares), dtype=np.int64)
    else:
        values, kind = np.unique(shares, return_inverse=True)
    codes = np.zeros(len(atom), dtype=np.int64)
    first = int(cells.min())
    codes[who] = ((cells - first) * len(values) + kind) + 1
    bound = (int(cells.max()) - first + 1) * len(values) + 1
    parents, atom = _grouped(atom * bound + codes, len(member) * bound)
    parent, code = parents // bound, parents % bound - 1
    member, share = member[parent], share[parent]
    into = code >= 0
    slot = (member >= 0).sum(axis=1)
    if len(parent) and int(slot[into].max(initial=-1)) >= member.shape[1]:
        member = np.pad(member, ((0, 0), (0, 1)), constant_values=-1)
        share = np.pad(share, ((0, 0), (0, 1)))
    member[into, slot[into]] = first + code[into] // len(values)
    share[into, slot[into]] = values[code[into] % len(values)]
    return atom, member, share


def _grouped(keys: Ints, bound: int) -> tuple[Ints, Ints]:
    """Distinct keys, and the place of each key among them."""
    if bound <= 8 * len(keys) + 4096:
        present: Flags = np.zeros(bound, dtype=np.bool_)
        present[keys] = True
        return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]
    distinct, inverse = np.unique(keys, return_inverse=True)
    return distinct, inverse.reshape(-1)


def _chunks(atoms: Ints) -> list[tuple[int, Ints]]:
    return [(start, atoms[start : start + CHUNK]) for start in range(0, len(atoms), CHUNK)]
