"""Changes of a data set, each with its entry in the ledger. Pages and the API share this."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from discreet.web.datasets import policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context
from discreet.web.framework.problems import Problem, not_found

LONGEST_POLICY = 60_000


def change_policy(context: Context, dataset: Dataset, text: str, *, version: int) -> Dataset:
    """Put a policy in force in place of the one of this version; gives the data set as it is then."""
    if len(text) > LONGEST_POLICY:
        raise Problem(
            413, f"A policy has at most {LONGEST_POLICY:,} characters here.", remedy="Leave out what it can do without."
        )
    policy = policies.checked(context.site.store, dataset, text)

    def along(connection: Connection) -> None:
        datasets.set_policy(connection, dataset.id, text, version=version)

    facts: dict[str, Any] = {"version": version + 1, "quasi": len(policy.quasi), "sensitive": len(policy.sensitive)}
    context.act("web.policy", dataset.subject, along=along, act="changed", digest=policy.digest, **facts)
    return _again(context, dataset)


def set_population(context: Context, dataset: Dataset, *, population: int | None, size: int | None) -> Dataset:
    """Among whom an adversary looks: the people of another data set, so many people, or nobody knows."""
    with context.site.store.reading() as connection:
        other = None if population is None else datasets.find(connection, population)
    if population is not None and (other is None or population == dataset.id):
        raise Problem(422, "The population is another data set.", remedy="Choose one of the list.")

    def along(connection: Connection) -> None:
        datasets.set_population(connection, dataset.id, population=population, size=size)

    context.act("web.dataset", dataset.subject, along=along, act="population", of=population, people=size)
    return _again(context, dataset)


def remove_dataset(context: Context, dataset: Dataset) -> None:
    """Everything about it but the ledger: its jobs end, its results and our files go."""
    useless: list[str] = []
    context.act(
        "web.dataset",
        dataset.subject,
        along=lambda connection: useless.extend(datasets.remove(connection, dataset.id)),
        act="removed",
        name=dataset.name,
    )
    context.site.places.folder.forget(useless)
    if context.site.foreman is not None:
        context.site.foreman.wake()


def _again(context: Context, dataset: Dataset) -> Dataset:
    with context.site.store.reading() as connection:
        found = datasets.find(connection, dataset.id)
    if found is None:
        raise not_found()
    return found
