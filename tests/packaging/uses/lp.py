"""Extra lp: linear programmes value an attack as the planning adversary's own table does."""

from __future__ import annotations

import math

from discreet.attacker import Attack
from discreet.reference.process import SOLVERS

attack = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10_000)
belief = dict.fromkeys(range(1, 13), 1 / 12)
values = {name: solve(attack, belief) for name, solve in SOLVERS.items()}
assert len(values) == 3
assert values["table"] > 0
assert all(math.isclose(value, values["table"], rel_tol=1e-9) for value in values.values()), values
