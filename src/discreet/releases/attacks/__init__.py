"""Attacks on releases: what recipients with a list of the population can find out, alone and together."""

from discreet.releases.attacks.suite import ATTACKS, Holding, run
from discreet.releases.attacks.suite import AttackCase as Case
from discreet.releases.attacks.suite import AttackOutcome as Outcome
from discreet.releases.attacks.suite import CopyHolder as Adversary
from discreet.releases.attacks.trial import Played, play

__all__ = ["ATTACKS", "Adversary", "Case", "Holding", "Outcome", "Played", "play", "run"]
