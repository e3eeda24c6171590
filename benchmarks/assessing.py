"""A risk report of 30,000 people by eight columns against pycanon: python -m benchmarks.assessing

Target: at least 100 times less CPU. Reads the Adult table where it is at hand (DISCREET_TABLES), else generated people.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.measure import DATA, SHARED, alone, best_of, report, show

ROOT = Path(__file__).parents[1]
PEERS = ROOT / ".peers" / "bin" / "python"
ADULT = SHARED / "adult" / "adult.csv"


def table() -> tuple[str, str, list[str], str]:
    """Path, delimiter, quasi-identifiers, sensitive column."""
    if ADULT.exists():
        with ADULT.open(encoding="utf-8") as file:
            names = file.readline().strip().split(";")
        return str(ADULT), ";", names[:-1], names[-1]
    from discreet.people import State, generate

    path = DATA / "patients.csv"
    DATA.mkdir(exist_ok=True)
    generate(State.of(300_000), seed=1).sample(30_162, seed=1).write(path)
    return str(path), ",", ["birth_year", "sex", "race", "zip", "plan", "visits"], "diagnosis"


def ours(path: str, delimiter: str, quasi: list[str], sensitive: str) -> float:
    """Read, count and assess, every measure included."""
    import discreet

    columns = {**{name: {"role": "quasi"} for name in quasi}, sensitive: {"role": "sensitive"}}
    policy = discreet.Policy.from_dict({"data": {"delimiter": delimiter}, "columns": columns})
    return discreet.assess(discreet.read(path, policy=policy), population=3_000_000).average_risk


def peer(path: str, delimiter: str, quasi: list[str], sensitive: str) -> int:
    """pycanon's report: k, alpha-k, l, entropy l, recursive c-l, basic and enhanced beta, t, delta disclosure."""
    import pandas
    from pycanon import anonymity

    data = pandas.read_csv(path, sep=delimiter)
    sens = [sensitive]
    measures = (
        anonymity.alpha_k_anonymity,
        anonymity.l_diversity,
        anonymity.entropy_l_diversity,
        anonymity.recursive_c_l_diversity,
        anonymity.basic_beta_likeness,
        anonymity.enhanced_beta_likeness,
        anonymity.t_closeness,
        anonymity.delta_disclosure,
    )
    for measure in measures:
        measure(data, quasi, sens)
    return int(anonymity.k_anonymity(data, quasi))


def main() -> None:
    """Run both in processes of their own and print the ratio."""
    if not PEERS.exists():
        raise SystemExit("The peers are not installed: run make bench, or make .peers/.ready")
    rows = [
        ("discreet.assess", alone("benchmarks.assessing", "ours")),
        ("pycanon", alone("benchmarks.assessing", "peer", python=str(PEERS))),
    ]
    show(rows, base="discreet.assess")
    costs = dict(rows)
    print(f"\n{costs['pycanon'].cpu / costs['discreet.assess'].cpu:.0f} times less CPU than pycanon (target: 100)")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ours"]:
            report(best_of(lambda: ours(*table()), times=3))
        case ["peer"]:
            report(best_of(lambda: peer(*table()), times=1))
        case _:
            main()
