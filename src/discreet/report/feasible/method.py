"""How room for decoys was counted, what it does not promise, and whose work it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.releases import Feasibility, FeasibilityGrid

REFERENCES = (
    (
        "Antonatos, S., Braghin, S., Holohan, N. & MacAonghusa, P. (2019). AnonTokens: tracing re-identification attacks through "
        "decoy records. arXiv:1906.09829."
    ),
    (
        "Samarati, P. & Sweeney, L. (1998). Protecting privacy when disclosing information: k-anonymity and its "
        "enforcement through generalization and suppression. SRI International."
    ),
)


def remains(found: Feasibility) -> tuple[str, ...]:
    """What room for decoys does not promise."""
    return tuple(_remains(found))


def _remains(found: Feasibility) -> Iterator[str]:
    yield (
        "Whoever owns a list of the population can count look-alikes too: candidates are rarer than every released class, so "
        "decoys chosen among them can be told from real classes by their link count alone."
    )
    yield (
        "Recipients who put their copies together see which classes only one of them has. Removing real classes hides "
        "decoys from those without a population list only."
    )
    yield "Who goes by anything but risk, or for one person he knows, may never meet a decoy."
    if found.candidates_without_subjects < found.candidate_classes:
        yield "Where people of the data were left out of a candidate class, a claim about it can be a true one."
    yield "The population is taken as it is: people it does not list make classes larger than they seem."


def method(found: Feasibility, grid: FeasibilityGrid | None) -> tuple[str, ...]:
    """How it was done."""
    return tuple(_method(found, grid))


def _method(found: Feasibility, grid: FeasibilityGrid | None) -> Iterator[str]:
    yield (
        f"The data are generalised to the least lossy combination of levels (`{found.loss_name}`) at which at most the "
        f"allowed share of people is in classes of fewer than {found.k:,}; these are left out (Samarati & Sweeney 1998)."
    )
    yield (
        "The population is counted at the same levels. The link count of a class is the number of people of the "
        "population in it. Candidates are classes that are not released, with at least k people and fewer than the least link "
        "count of a released class; their factor is that least link count divided by their own (Antonatos et al. 2019, "
        "Algorithm 1)."
    )
    if grid is not None and grid.counted is not None:
        yield (
            f"For the other limits {grid.counted:,} of {grid.nodes:,} combinations of levels were counted, each once for all "
            "of them, from the classes of a finer one."
        )
