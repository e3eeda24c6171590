"""The attacker lab: change what an adversary gains, pays and risks, and see at once whom he leaves alone."""
