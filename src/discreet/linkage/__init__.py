"""People decide whether two records are one person, seeing as little as possible.

>>> from discreet.linkage import LinkageSpec
>>> spec = LinkageSpec.from_dict({"linkage": {"identifying": {"name": {"kind": "string"}, "born": {"kind": "date"}}}})
>>> spec.names
('name', 'born')
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.linkage.folder import ProjectFolder, start_project
    from discreet.linkage.masking.comparison import Comparison, compare, compare_names
    from discreet.linkage.masking.index import Index, Quote, Step, load_index, save_index
    from discreet.linkage.masking.kapr import Display, Meter
    from discreet.linkage.masking.record_pair import Pair
    from discreet.linkage.masking.text import MARKS, Mark
    from discreet.linkage.matching.backends import DuckDBBackend, SparkBackend
    from discreet.linkage.matching.blocking import Blocking, Rule, suggest_rules
    from discreet.linkage.matching.candidate_pairs import Candidates, adopt_pairs, find_pairs, load_candidates
    from discreet.linkage.matching.clusters import Clusters, cluster, one_to_one
    from discreet.linkage.matching.pairs import Labels, Pairs, read_labels, read_pairs, sample_to_label
    from discreet.linkage.matching.splink_model import Model, retrain, score_pairs, train
    from discreet.linkage.matching.thresholds import (
        Calibration,
        Zones,
        calibrate,
        calibration_error,
        distribution,
        zones_by_capacity,
        zones_by_errors,
    )
    from discreet.linkage.spec import Attribute, LinkageSpec

# Each name is imported from its file when it is first used, so that the room is entered quickly.
_NAMES = {
    "folder": "ProjectFolder start_project",
    "masking.comparison": "Comparison compare compare_names",
    "masking.index": "Index Quote Step load_index save_index",
    "masking.kapr": "Display Meter",
    "masking.record_pair": "Pair",
    "masking.text": "MARKS Mark",
    "matching.backends": "DuckDBBackend SparkBackend",
    "matching.blocking": "Blocking Rule suggest_rules",
    "matching.candidate_pairs": "Candidates adopt_pairs find_pairs load_candidates",
    "matching.clusters": "Clusters cluster one_to_one",
    "matching.pairs": "Labels Pairs read_labels read_pairs sample_to_label",
    "matching.splink_model": "Model retrain score_pairs train",
    "matching.thresholds": "Calibration Zones calibrate calibration_error distribution zones_by_capacity zones_by_errors",
    "spec": "Attribute LinkageSpec",
}
_FILES = {name: file for file, names in _NAMES.items() for name in names.split()}

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
