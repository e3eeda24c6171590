"""Room: people decide whether two records are one person, seeing as little as possible.

>>> from discreet.linkage import LinkageSpec
>>> spec = LinkageSpec.from_dict({"linkage": {"identifying": {"name": {"kind": "string"}, "born": {"kind": "date"}}}})
>>> spec.names
('name', 'born')
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.linkage.backends import DuckDBBackend, SparkBackend
    from discreet.linkage.blocking import Blocking, Rule, suggest_rules
    from discreet.linkage.calibrating import Calibration, calibrate, calibration_error
    from discreet.linkage.clusters import Clusters, cluster, one_to_one
    from discreet.linkage.comparing import compare, compare_names
    from discreet.linkage.comparison import Comparison
    from discreet.linkage.declared import Attribute, LinkageSpec
    from discreet.linkage.display import Display
    from discreet.linkage.finding import Candidates, adopt_pairs, find_pairs, load_candidates
    from discreet.linkage.folder import ProjectFolder
    from discreet.linkage.importing import start_project
    from discreet.linkage.index import Index, Quote, Step
    from discreet.linkage.marks import MARKS, Mark
    from discreet.linkage.meter import Meter
    from discreet.linkage.model import Model, retrain, score_pairs, train
    from discreet.linkage.pair import Pair
    from discreet.linkage.pairfile import read_labels, read_pairs
    from discreet.linkage.pairs import Labels, Pairs
    from discreet.linkage.sampling import sample_to_label
    from discreet.linkage.stored import load_index, save_index
    from discreet.linkage.zones import Zones, distribution, zones_by_capacity, zones_by_errors

# Each name is imported from its file when it is first used, so that the room is entered quickly.
_FILES = {
    "MARKS": "marks",
    "Attribute": "declared",
    "Blocking": "blocking",
    "Calibration": "calibrating",
    "Candidates": "finding",
    "Clusters": "clusters",
    "Comparison": "comparison",
    "Display": "display",
    "DuckDBBackend": "backends",
    "Index": "index",
    "Labels": "pairs",
    "LinkageSpec": "declared",
    "Mark": "marks",
    "Meter": "meter",
    "Model": "model",
    "Pair": "pair",
    "Pairs": "pairs",
    "ProjectFolder": "folder",
    "Quote": "index",
    "Rule": "blocking",
    "SparkBackend": "backends",
    "Step": "index",
    "Zones": "zones",
    "adopt_pairs": "finding",
    "calibrate": "calibrating",
    "calibration_error": "calibrating",
    "cluster": "clusters",
    "compare": "comparing",
    "compare_names": "comparing",
    "distribution": "zones",
    "find_pairs": "finding",
    "load_candidates": "finding",
    "load_index": "stored",
    "one_to_one": "clusters",
    "read_labels": "pairfile",
    "read_pairs": "pairfile",
    "retrain": "model",
    "sample_to_label": "sampling",
    "save_index": "stored",
    "score_pairs": "model",
    "start_project": "importing",
    "suggest_rules": "blocking",
    "train": "model",
    "zones_by_capacity": "zones",
    "zones_by_errors": "zones",
}

__all__ = [
    "MARKS",
    "Attribute",
    "Blocking",
    "Calibration",
    "Candidates",
    "Clusters",
    "Comparison",
    "Display",
    "DuckDBBackend",
    "Index",
    "Labels",
    "LinkageSpec",
    "Mark",
    "Meter",
    "Model",
    "Pair",
    "Pairs",
    "ProjectFolder",
    "Quote",
    "Rule",
    "SparkBackend",
    "Step",
    "Zones",
    "adopt_pairs",
    "calibrate",
    "calibration_error",
    "cluster",
    "compare",
    "compare_names",
    "distribution",
    "find_pairs",
    "load_candidates",
    "load_index",
    "one_to_one",
    "read_labels",
    "read_pairs",
    "retrain",
    "sample_to_label",
    "save_index",
    "score_pairs",
    "start_project",
    "suggest_rules",
    "train",
    "zones_by_capacity",
    "zones_by_errors",
]


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module 'discreet.linkage' has no attribute '{name}'")
    return getattr(importlib.import_module(f"discreet.linkage.{_FILES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
