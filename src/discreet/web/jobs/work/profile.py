"""Look at the columns: what they are, how people spread, who is alone; and draft a policy."""

from __future__ import annotations

from dataclasses import asdict

from discreet.policy import write_draft
from discreet.report import profile_findings
from discreet.risk import profile
from discreet.web.jobs.task import Outcome, Task

LARGEST = 3
"""Columns in a combination."""


def profile_table(task: Task) -> Outcome:
    """The profile, and a draft of the policy from it."""
    counted = task.counting(len(task.dataset.columns) + 1, upto=0.95, words="Counting column by column")
    found = profile(task.table(counted), largest=LARGEST)
    numbers = found.to_dict()
    numbers["findings"] = [_for_pages(asdict(finding)) for finding in profile_findings(found)]
    return Outcome(
        event="risk.profiled",
        numbers=numbers,
        draft=write_draft(found.drafts(), encoding=task.dataset.encoding),
        details={"people": found.records, "columns": len(found.columns)},
    )


def _for_pages(finding: dict[str, str]) -> dict[str, str]:
    """Where the next step is a command, here it is the form beside the finding."""
    if "policy init" not in finding["next_step"]:
        return finding
    return {**finding, "next_step": "Confirm them, or correct what an adversary could know, and save the roles."}
