"""Figures as Prometheus reads them, in the opinion of its own client library; and the log beside them."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from discreet.operations.event_log import MESSAGES, EventLog
from discreet.operations.metrics import BOUNDS, Metrics, labelled

NAMES = st.sampled_from(["requests", "messages", "jobs"])
VALUES = st.text(max_size=12)
EVENTS = st.lists(st.tuples(NAMES, VALUES, st.floats(0, 60)), max_size=40)


@given(EVENTS, st.dictionaries(VALUES, st.floats(-1e12, 1e12), max_size=5))
def test_what_was_counted_is_what_is_read(events: list[tuple[str, str, float]], gauges: dict[str, float]) -> None:
    metrics = Metrics("x_")
    for name, value, seconds in events:
        metrics.count(name, what=value)
        metrics.time(f"{name}_seconds", seconds, what=value)
    named = {labelled("level", (("of", of),)): value for of, value in gauges.items()}
    families = {family.name: family for family in text_string_to_metric_families(metrics.text(named))}
    for name in {name for name, _, _ in events}:
        counted = {sample.labels["what"]: sample.value for sample in families[f"x_{name}"].samples}
        texts = [value for other, value, _ in events if other == name]
        assert counted == {text: texts.count(text) for text in texts}
        for sample in families[f"x_{name}_seconds"].samples:
            times = [each for other, value, each in events if (other, value) == (name, sample.labels["what"])]
            if sample.name.endswith("_bucket"):
                assert sample.value == sum(each <= float(sample.labels["le"]) for each in times)
            elif sample.name.endswith("_count"):
                assert sample.value == len(times)
    if gauges:
        assert {sample.labels["of"]: sample.value for sample in families["x_level"].samples} == {
            of: float(f"{value:.15g}") for of, value in gauges.items()
        }
    assert len(BOUNDS) == len(set(BOUNDS))


def test_the_log_says_what_it_may_and_survives_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = EventLog(path, named=MESSAGES | {"user"})
    log.write("request", user="ann", diagnosis="J45", level=None)
    path.rename(tmp_path / "old")
    log.reopen()
    log.write("request", user="ben")
    log.close()
    log.write("request", user="eve")
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("old", "log"))
    assert set(first) == {"time", "event", "user"}
    assert second["user"] == "ben"


def test_errors_come_without_their_traceback() -> None:
    written = io.StringIO()
    logger = logging.getLogger("discreet.test-log")
    logger.addHandler(EventLog(written, named=MESSAGES).handler())
    logger.propagate = False
    try:
        raise ValueError("a name of a patient")
    except ValueError:
        logger.exception("it failed at %s", "reading.py:40")
    line = json.loads(written.getvalue())
    assert line["message"] == "it failed at reading.py:40"
    assert "patient" not in written.getvalue()
