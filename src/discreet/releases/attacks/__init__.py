"""Attacks on releases: what recipients with a list of the population can find out, alone and together."""

from discreet.releases.attacks.held import Adversary, Holding
from discreet.releases.attacks.playing import Played, play
from discreet.releases.attacks.suite import ATTACKS, Case, Outcome, run

__all__ = ["ATTACKS", "Adversary", "Case", "Holding", "Outcome", "Played", "play", "run"]
