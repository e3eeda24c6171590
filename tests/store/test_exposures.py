"""What users have learned survives, on both stores, and of two who write at once none is forgotten."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import Outdated
from discreet.misuse import Exposure, Sensitivity
from discreet.store import Exposures, Kept, Store

F = Sensitivity.from_dict({"illness": {"values": {"HIV": 1.0}, "otherwise": 0.2}})


def test_an_exposure_survives_the_process_that_learned_it(store_url: str) -> None:
    learned = Exposure(sensitivity=F).after(entities=[1, 2], values={"illness": ["HIV", "flu"]}, at=1)
    with Store.open(store_url) as store:
        assert Exposures(store).of("ann") is None
        assert Exposures(store).keep("ann", learned.to_bytes(), seen=0) == 1
    with Store.open(store_url) as store:
        kept = Exposures(store).of("ann")
        assert kept is not None
        known = Exposure.from_bytes(kept.content)
        assert known.value == learned.value
        more = known.after(entities=[3], values={"illness": ["HIV"]}, at=2)
        assert Exposures(store).keep("ann", more.to_bytes(), seen=kept.version) == 2
        again = Exposures(store).of("ann")
        assert again is not None
        assert Exposure.from_bytes(again.content).value == more.value > learned.value


def test_who_has_not_seen_the_last_version_is_refused(store_url: str) -> None:
    with Store.open(store_url) as store:
        exposures = Exposures(store)
        exposures.keep("ann", b"one", seen=0)
        exposures.keep("ann", b"two", seen=1)
        for seen in (0, 1, 3):
            with pytest.raises(Outdated):
                exposures.keep("ann", b"late", seen=seen)
        assert exposures.of("ann") == Kept(b"two", 2)
        assert exposures.of("bob") is None


def test_of_many_who_learn_at_once_none_is_forgotten(store_url: str) -> None:
    def learn(entity: int) -> None:
        while True:
            kept = exposures.of("ann")
            known = Exposure(sensitivity=F) if kept is None else Exposure.from_bytes(kept.content)
            more = known.after(entities=[entity], values={"illness": ["flu"]}, at=1)
            try:
                exposures.keep("ann", more.to_bytes(), seen=0 if kept is None else kept.version)
            except Outdated:
                continue
            return

    with Store.open(store_url) as store, ThreadPoolExecutor(8) as pool:
        exposures = Exposures(store)
        list(pool.map(learn, range(24)))
        kept = exposures.of("ann")
        assert kept is not None
        assert kept.version == 24
        everybody = Exposure(sensitivity=F).after(entities=list(range(24)), values={"illness": ["flu"] * 24}, at=1)
        assert Exposure.from_bytes(kept.content).value == pytest.approx(everybody.value)
