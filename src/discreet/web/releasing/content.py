"""What somebody plans: a release, or further recipients of one. Pages and the API share this."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Field

from discreet.errors import DiscreetError
from discreet.releases.marks.codebook import Law
from discreet.releases.preconditions import AGREEMENT, Gates, check_names
from discreet.web.datasets import policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context
from discreet.web.framework.models import Strict
from discreet.web.framework.problems import Problem

MOST_RECIPIENTS = 500
LONGEST_AGREEMENT = 20_000
FORMATS = ("parquet", "csv", "csv.gz")
Name = Annotated[str, Field(min_length=1, max_length=64)]
Answer = Annotated[str, Field(max_length=500)]
Number = Annotated[int, Field(ge=0, le=10**17)]


class NewPlan(Strict):
    """A release to be planned. Nothing is made before another custodian has approved it."""

    name: Name
    dataset: Number
    """The data set that copies are made of; its policy says what each column is."""
    population: Number
    """The data set of the people among whom an adversary looks: rows, or counts."""
    recipients: list[Name] = Field(min_length=1, max_length=MOST_RECIPIENTS)
    k: int = Field(default=5, ge=2, le=10**6)
    suppression: float = Field(default=0.1, ge=0, le=1)
    law: Annotated[str, Field(min_length=1, max_length=80)] = "0.2/0.5"
    format: Literal["parquet", "csv", "csv.gz"] = "parquet"
    population_source: Answer = ""
    population_licence: Answer = ""
    counts_only: bool = False
    sign_off: Answer = ""
    agreement: Annotated[str, Field(max_length=LONGEST_AGREEMENT)] = AGREEMENT
    force: bool = False
    """Go on with fewer than 30 marks, or with decoys that can be told."""

    @property
    def gates(self) -> Gates:
        """The answers that a release needs."""
        return Gates(
            population_source=self.population_source.strip(),
            population_licence=self.population_licence.strip(),
            counts_only=self.counts_only,
            sign_off=self.sign_off.strip(),
            agreement=self.agreement,
        )


class MoreRecipients(Strict):
    """Recipients who come later; they too wait for another custodian."""

    recipients: list[Name] = Field(min_length=1, max_length=MOST_RECIPIENTS)


def content_of(context: Context, wanted: NewPlan) -> dict[str, Any]:
    """Everything that is planned, the policy included, as it will be approved; a problem in words if it cannot be."""
    try:
        check_names([wanted.name], "release")
        check_names(wanted.recipients, "recipient")
        Law.parse(wanted.law)
        wanted.gates.check()
    except DiscreetError as error:
        raise Problem(422, error.problem, remedy=error.remedy, title="The release is not planned yet") from None
    data, population = _dataset(context, wanted.dataset), _dataset(context, wanted.population)
    if data.id == population.id:
        raise Problem(422, "The population is another data set than the data.", remedy="Choose one of the list.")
    lacking = "No column of the data is a quasi-identifier, so there is nobody to hide decoys among."
    text, policy = policies.with_quasi(context.site.store, data, otherwise=lacking)
    return {
        **wanted.model_dump(exclude={"name", "dataset", "population"}),
        "release": wanted.name,
        "dataset": data.id,
        "dataset_name": data.name,
        "population": population.id,
        "population_name": population.name,
        "policy": text,
        "policy_digest": policy.digest,
    }


def _dataset(context: Context, number: int) -> Dataset:
    with context.site.store.reading() as connection:
        found = datasets.find(connection, number)
    if found is None:
        raise Problem(422, "There is no such data set.", remedy="Choose the data and their population from the list.")
    return found


def digest_of(content: dict[str, Any]) -> str:
    """The SHA-256 of what is planned."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
