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
    from discreet.linkage.declared import Attribute, LinkageSpec
    from discreet.linkage.finding import Candidates, adopt_pairs, find_pairs, load_candidates
    from discreet.linkage.folder import ProjectFolder
    from discreet.linkage.importing import start_project
    from discreet.linkage.model import Model, retrain, score_pairs, train
    from discreet.linkage.pairfile import read_labels, read_pairs
    from discreet.linkage.pairs import Labels, Pairs
    from discreet.linkage.sampling import sample_to_label
    from discreet.linkage.zones import Zones, distribution, zones_by_capacity, zones_by_errors

# Each name is imported from its file when it is first used, so that the room is entered quickly.
_FILES = {
    "Attribute": "declared",
    "Blocking": "blocking",
    "Calibration": "calibrating",
    "Candidates": "finding",
    "Clusters": "clusters",
    "DuckDBBackend": "backends",
    "Labels": "pairs",
    "LinkageSpec": "declared",
    "Model": "model",
    "Pairs": "pairs",
    "ProjectFolder": "folder",
    "Rule": "blocking",
    "SparkBackend": "backends",
    "Zones": "zones",
    "adopt_pairs": "finding",
    "calibrate": "calibrating",
    "calibration_error": "calibrating",
    "cluster": "clusters",
    "distribution": "zones",
    "find_pairs": "finding",
    "load_candidates": "finding",
    "one_to_one": "clusters",
    "read_labels": "pairfile",
    "read_pairs": "pairfile",
    "retrain": "model",
    "sample_to_label": "sampling",
    "score_pairs": "model",
    "start_project": "importing",
    "suggest_rules": "blocking",
    "train": "model",
    "zones_by_capacity": "zones",
    "zones_by_errors": "zones",
}

__all__ = [
    "Attribute",
    "Blocking",
    "Calibration",
    "Candidates",
    "Clusters",
    "DuckDBBackend",
    "Labels",
    "LinkageSpec",
    "Model",
    "Pairs",
    "ProjectFolder",
    "Rule",
    "SparkBackend",
    "Zones",
    "adopt_pairs",
    "calibrate",
    "calibration_error",
    "cluster",
    "distribution",
    "find_pairs",
    "load_candidates",
    "one_to_one",
    "read_labels",
    "read_pairs",
    "retrain",
    "sample_to_label",
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
