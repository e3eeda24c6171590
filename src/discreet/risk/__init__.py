"""Measures on the class histogram: who can be singled out, what can be inferred, what a population would show."""

from discreet.risk.assessment import Assessment, assess
from discreet.risk.inference import Inference, infer
from discreet.risk.population import PopulationUniqueness, estimate
from discreet.risk.records import RecordRisks
from discreet.risk.reidentification import (
    Band,
    Economics,
    Payoffs,
    Presence,
    Reidentification,
    bands,
    journalist,
    marketer,
    presence,
    prosecutor,
)
from discreet.risk.survey import HouseholdRisk, WeightedRisk, individual
from discreet.risk.table_profile import ColumnProfile, Combination, Profile, profile, singling_out

__all__ = [
    "Assessment",
    "Band",
    "ColumnProfile",
    "Combination",
    "Economics",
    "HouseholdRisk",
    "Inference",
    "Payoffs",
    "PopulationUniqueness",
    "Presence",
    "Profile",
    "RecordRisks",
    "Reidentification",
    "WeightedRisk",
    "assess",
    "bands",
    "estimate",
    "individual",
    "infer",
    "journalist",
    "marketer",
    "presence",
    "profile",
    "prosecutor",
    "singling_out",
]
