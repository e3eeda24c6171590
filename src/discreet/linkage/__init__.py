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
    from discreet.linkage.masking.compare import compare, compare_names
    from discreet.linkage.masking.comparison import Comparison, Pair
    from discreet.linkage.masking.icons import MARKS, Mark
    from discreet.linkage.masking.index import Index, Quote, Step, load_index, save_index
    from discreet.linkage.masking.kapr import Meter
    from discreet.linkage.masking.scored_display import Display
    from discreet.linkage.matching.backends import DuckDBBackend, SparkBackend
    from discreet.linkage.matching.blocking import Blocking, Rule, suggest_rules
    from discreet.linkage.matching.candidate_pairs import Candidates, adopt_pairs, find_pairs, load_candidates
    from discreet.linkage.matching.clusters import Clusters, cluster, one_to_one
    from discreet.linkage.matching.pairs import Labels, Pairs, sample_to_label
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
    from discreet.linkage.records.folder import ProjectFolder
    from discreet.linkage.records.pair_files import read_labels, read_pairs
    from discreet.linkage.records.spec import Attribute, LinkageSpec
    from discreet.linkage.records.table_import import start_project

# Each name is imported from its file when it is first used, so that the room is entered quickly.
_FILES = {
    "MARKS": "masking.icons",
    "Attribute": "records.spec",
    "Blocking": "matching.blocking",
    "Calibration": "matching.thresholds",
    "Candidates": "matching.candidate_pairs",
    "Clusters": "matching.clusters",
    "Comparison": "masking.comparison",
    "Display": "masking.scored_display",
    "DuckDBBackend": "matching.backends",
    "Index": "masking.index",
    "Labels": "matching.pairs",
    "LinkageSpec": "records.spec",
    "Mark": "masking.icons",
    "Meter": "masking.kapr",
    "Model": "matching.splink_model",
    "Pair": "masking.comparison",
    "Pairs": "matching.pairs",
    "ProjectFolder": "records.folder",
    "Quote": "masking.index",
    "Rule": "matching.blocking",
    "SparkBackend": "matching.backends",
    "Step": "masking.index",
    "Zones": "matching.thresholds",
    "adopt_pairs": "matching.candidate_pairs",
    "calibrate": "matching.thresholds",
    "calibration_error": "matching.thresholds",
    "cluster": "matching.clusters",
    "compare": "masking.compare",
    "compare_names": "masking.compare",
    "distribution": "matching.thresholds",
    "find_pairs": "matching.candidate_pairs",
    "load_candidates": "matching.candidate_pairs",
    "load_index": "masking.index",
    "one_to_one": "matching.clusters",
    "read_labels": "records.pair_files",
    "read_pairs": "records.pair_files",
    "retrain": "matching.splink_model",
    "sample_to_label": "matching.pairs",
    "save_index": "masking.index",
    "score_pairs": "matching.splink_model",
    "start_project": "records.table_import",
    "suggest_rules": "matching.blocking",
    "train": "matching.splink_model",
    "zones_by_capacity": "matching.thresholds",
    "zones_by_errors": "matching.thresholds",
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
