"""Attacks on releases: what recipients with a list of the population can find out, alone and together."""

from discreet.releases.attacks.suite import ATTACKS, Adversary, Case, Holding, Outcome, run
from discreet.releases.attacks.trial import Played, play

__all__ = ["ATTACKS", "Adversary", "Case", "Holding", "Outcome", "Played", "play", "run"]
