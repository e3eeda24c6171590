"""Who gets which pairs: each pair to several people, everybody about as many, in an order of her own. Pure."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.errors import UsageError


@dataclass(frozen=True)
class Deal:
    """The pairs of each worker in her order, and how many looks at pairs found nobody."""

    pairs: Mapping[str, tuple[int, ...]]
    left_over: int


def deal(
    pairs: Sequence[int],
    workers: Sequence[str],
    *,
    overlap: int = 1,
    most: int | None = None,
    had: Mapping[int, Sequence[str]] | None = None,
    seen_by: Mapping[int, Sequence[str]] | None = None,
    loads: Mapping[str, int] | None = None,
    rng: random.Random,
) -> Deal:
    """Give every pair to the least busy workers until `overlap` people have it, and nobody more than `most` pairs.

    `had` says who has a pair already, which counts for the overlap; `seen_by` who must not get it again; `loads` how
    many pairs each worker has already.

    >>> dealt = deal(range(6), ["ann", "ben", "eve"], overlap=2, rng=random.Random(1))
    >>> [len(mine) for mine in dealt.pairs.values()], dealt.left_over
    ([4, 4, 4], 0)
    """
    _check(workers, overlap)
    busy = {worker: (loads or {}).get(worker, 0) for worker in workers}
    mine: dict[str, list[int]] = {worker: [] for worker in workers}
    left_over = 0
    for pair in rng.sample(list(pairs), len(pairs)):
        holders = (had or {}).get(pair, ())
        barred = {*holders, *(seen_by or {}).get(pair, ())}
        free = [worker for worker in workers if worker not in barred and (most is None or busy[worker] < most)]
        chosen = sorted(free, key=lambda worker: (busy[worker], rng.random()))[: max(0, overlap - len(holders))]
        left_over += max(0, overlap - len(holders)) - len(chosen)
        for worker in chosen:
            busy[worker] += 1
            mine[worker].append(pair)
    return Deal({worker: tuple(rng.sample(given, len(given))) for worker, given in mine.items()}, left_over)


def _check(workers: Sequence[str], overlap: int) -> None:
    if not workers or len(set(workers)) < len(workers):
        raise UsageError("Pairs are given to different workers, at least one.", remedy="Name each once.")
    if not 1 <= overlap <= len(workers):
        raise UsageError(
            f"Each pair cannot be seen by {overlap} of {len(workers)} workers.",
            remedy="The overlap is at least 1 and at most the number of workers.",
        )
