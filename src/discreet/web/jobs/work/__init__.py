"""What each kind of job does."""

from collections.abc import Callable

from discreet.web.jobs.task import Outcome, Task
from discreet.web.jobs.work.anonymise import anonymise_table
from discreet.web.jobs.work.assess import assess_table
from discreet.web.jobs.work.attack import attack_table
from discreet.web.jobs.work.preflight import look_ahead
from discreet.web.jobs.work.profile import profile_table
from discreet.web.jobs.work.project import tell_project
from discreet.web.jobs.work.release import make_copies

WORK: dict[str, Callable[[Task], Outcome]] = {
    "profile": profile_table,
    "assess": assess_table,
    "anonymise": anonymise_table,
    "attack": attack_table,
    "preflight": look_ahead,
    "release": make_copies,
    "project": tell_project,
}
"""By kind."""
