"""Attacker lab: what an adversary gains, pays and risks, and whom they attack."""
