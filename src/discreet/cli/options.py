"""Options that several commands share: policies, tables, the store, the actor."""

from __future__ import annotations

import functools
import json
import os
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import click

import discreet
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet import Policy, Table
    from discreet.risk.giveaways import Telling

Command = TypeVar("Command", bound=Callable[..., Any])
SEED = "The same seed gives the same {}."
ROLES = "Policy that gives the columns their roles."
MOST_GIVEAWAYS = 10
"""Columns, or pairs of them, that are warned about one by one."""
ACTOR = "Who does this, for the ledger [your user name]."
FORCE = "Proceed with fewer than 30 marks, or with detectable decoys."
SUPPRESSION = "Largest share of people suppressed."
LOSS = "Information-loss metric to minimise."
ALIKE = "Smallest class: at least K people look alike."
HIERARCHIES = "Policy with roles and hierarchies."
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
PATH = click.Path(path_type=Path)
LONGEST_SETTINGS = 1 << 20
"""Bytes of a file that may name other files, as a policy names its hierarchies."""
LARGEST_COUNTRY = 2_000_000_000
"""People that no population has; weights that sum to more have decimals that were not written, or are no weights."""
LARGE_COUNT = 20
"""The least count of people from which on counts are more likely survey weights."""


class Decorator(Protocol):
    """Something that adds to a command, such as an option."""

    def __call__(self, command: Command, /) -> Command:
        """The command with what was added."""


def option(*names: str, **settings: Any) -> Decorator:
    """`click.option`, with the default shown where there is one."""
    return click.option(*names, show_default=settings.get("default") not in (None, ""), **settings)


def options(*several: Decorator) -> Decorator:
    """Options as one decorator; the help of a command lists them in this order."""

    def add(command: Command) -> Command:
        for each in reversed(several):
            command = each(command)
        return command

    return add


class TargetOption(click.Option):
    """An option that names what a command writes."""


def target_option(*names: str, **settings: Any) -> Decorator:
    """An option that names what is written: never anything that the command reads."""

    def add(command: Command) -> Command:
        @functools.wraps(command)
        def guarded(*given: Any, **named: Any) -> Any:
            refuse_inputs(click.get_current_context())
            return command(*given, **named)

        return option(*names, cls=TargetOption, **settings)(cast("Command", guarded))

    return add


def refuse_inputs(context: click.Context) -> None:
    """Stop if what a command would write is something that it reads: whatever is no target counts as read."""
    targets: list[str] = []
    inputs: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        several = value if isinstance(value, tuple) else (value,)
        texts = [str(each) for each in several if isinstance(each, str | Path)]
        (targets if isinstance(parameter, TargetOption) else inputs).extend(texts)
    for target in targets:
        if target.startswith("postgres"):
            lost = any(_one_table(target, given) for given in inputs)
        elif lost := Path(target).is_file():
            if "address" in context.params:
                from discreet.store.connection import Address

                store = Address.parse(context.params["address"]).path
                inputs += [] if store is None else [str(store)]
            there = Path(target).stat()
            lost = any(os.path.samestat(there, each) for given in inputs for each in _files_read(given))
        if lost:
            name = "The table of --out" if "://" in target else target  # an address may hold a password
            raise UsageError(
                f"{name} is read by this command, and would be lost if it was replaced.",
                remedy="Give the result a name of its own.",
            )


def _files_read(given: str) -> Iterator[os.stat_result]:
    """The files behind what a command was given: those of a folder or pattern, and those that they name."""
    from discreet.sources.files.table_file import files_of

    if given == "-":
        with suppress(OSError, ValueError):  # a program may have no standard input
            yield os.fstat(sys.stdin.fileno())
        return
    files: list[Path] = []
    with suppress(OSError, ValueError):  # a text that is no path
        files += [] if "://" in given else files_of(Path(given))
    for file in files:  # grows by the files that are named in these
        yield file.stat()
        with suppress(OSError, ValueError, RecursionError):
            if file.stat().st_size <= LONGEST_SETTINGS:
                named = _texts(tomllib.loads(file.read_text(encoding="utf-8-sig")))
                there = (file.parent / text for text in named)
                files += [path for path in there if os.path.isfile(path) and path not in files]  # noqa: PTH113 - long texts


def _texts(content: Any) -> Iterator[str]:
    """The texts in the content of a TOML file, at any depth."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping | list):
        for each in content.values() if isinstance(content, Mapping) else content:
            yield from _texts(each)


def _one_table(target: str, given: str) -> bool:
    """Whether two addresses name one table of PostgreSQL; a table without a schema is one of any."""
    from discreet.sources.server import address

    if not given.startswith("postgres"):
        return False
    (server, ours), (other, theirs) = address(target), address(given)
    names = [tables.get("table", "").split(".")[::-1] for tables in (ours, theirs)]
    return server.partition(":")[2] == other.partition(":")[2] and all(map(str.__eq__, *names))


def policy_option(words: str = ROLES, *, required: bool = True) -> Decorator:
    """The policy file."""
    return option("--policy", "policy_file", metavar="FILE", required=required, help=words)


def seed_option(what: str) -> Decorator:
    """The seed of something that is generated."""
    return option("--seed", type=click.IntRange(0), default=1, help=SEED.format(what))


def folder_option(words: str = "Folder to write to.", **settings: Any) -> Decorator:
    """The folder for what is written."""
    return target_option("--out", type=FOLDER, metavar="DIR", help=words, **settings)


def draft_option(words: str = "Write to FILE instead of stdout; never overwrites.") -> Decorator:
    """The new file for a draft, which a person may have filled in since."""
    return target_option("--out", type=FILE, callback=_refuse_existing, metavar="FILE", help=words)


def _refuse_existing(context: click.Context, parameter: click.Parameter, out: Path | None) -> Path | None:
    if out is not None and out.exists():
        raise UsageError(f"{out} exists already.", remedy="Give another name; a file in use is not overwritten.")
    return out


store_option = option(
    "--store",
    "address",
    metavar="URL",
    help="The store: a path or a URL; else $DISCREET_STORE, else ~/.local/share/discreet/store.db.",
)
as_option = option("--as", "actor", metavar="NAME", help=ACTOR)
"""The person acting, in linkage and for accounts."""
actor_option = option("--actor", metavar="NAME", help=ACTOR)
"""The person acting, in releases and traces."""
population_option = option(
    "--population", metavar="POP", required=True, help="Table of the people the data were drawn from."
)


def address_of(text: str, option: str) -> tuple[str, int]:
    """The host and port that an option gives."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise UsageError(f"{option} is not understood.", remedy="Write it as HOST:PORT, such as 127.0.0.1:6432.")
    return host.strip("[]"), int(port)


def acting(name: str | None) -> str:
    """The person acting: the name given, or that of the user of this machine."""
    import getpass  # few commands need it

    return name or getpass.getuser()


def data_and_population(data: str, population: str, policy_file: str) -> tuple[Table, Table]:
    """The data and the people they were drawn from, read by one policy."""
    policy = discreet.Policy.load(policy_file)
    return discreet.read(data, policy=policy), listed(population, policy)


def listed(population: str, policy: Policy) -> Table:
    """A table of people from outside the data, read by the data's policy."""
    return discreet.read(population, policy=policy.for_population())


def number_of_people(text: str) -> int | None:
    """A number of people as typed; None if the text is something else.

    >>> number_of_people("3,500,000"), number_of_people("voters.csv")
    (3500000, None)
    """
    digits = text.replace(",", "").replace("_", "")
    with suppress(ValueError):
        if float(digits) < 1 or float(digits) % 1:
            raise UsageError(
                f"A population is a table or a whole number of people from 1 up, not {text}.",
                remedy="For example --population 3500000, or --population register.csv.",
            )
    return int(digits) if digits.isdigit() else None


def unconfirmed_notes(policy: Policy) -> list[str]:
    """What to say where roles are guesses: which, and how their columns counted."""
    if not policy.unconfirmed:
        return []
    unpublished = {*policy.unpublished}
    quasi = {*policy.quasi}
    counted = [name for name in policy.unconfirmed if name in quasi]
    never = [name for name in policy.unconfirmed if name in unpublished]
    readings = [f"counted as quasi-identifiers: {policy.spelled(counted)}"] if counted else []
    readings += [f"counted as never published: {policy.spelled(never)}"] if never else []
    remedy = f"discreet policy confirm {shlex.quote(policy.file)} --all"
    many = f"roles of {len(policy.unconfirmed):,} columns" if len(policy.unconfirmed) > 1 else "role of a column"
    note = f"Note: not confirmed: the {many}; {'; '.join(readings)}."
    return [f"{note} Nothing is written or released before each is confirmed: {remedy}"]


def tied_rows_notes(table: Table) -> list[str]:
    """What to say where a published column ties the rows of a person together."""
    published = table.published
    names = [name for name in table.person if published.get(name) in ("sensitive", "other")]
    if not names or table.records == table.rows:
        return []
    tied = "says whose row it is and is published as it is. A recipient can tie the rows of a person together"
    return [f'Note: {", ".join(names)} {tied}, which no figure here considers; role = "drop" leaves it out.']


def giveaway_notes(found: Sequence[Telling]) -> list[str]:
    """What to say where a published column singles people out, or says what was made coarser."""
    notes = [f"Warning: {giveaway.words()}" for giveaway in found[:MOST_GIVEAWAYS]]
    if len(found) > MOST_GIVEAWAYS:
        notes.append(f"Warning: {len(found) - MOST_GIVEAWAYS} more such columns, or pairs of them; --json lists all.")
    return notes


def repeated_notes(table: Table) -> list[str]:
    """What to say where rows may be counted as the wrong number of people."""
    notes = [
        f"Note: {numbering.repeated:,} values of the identifier {name} occur on more than one row; figures about people "
        f"count rows. Say in the policy whose row it is: [data] person = {json.dumps(name, ensure_ascii=False)}."
        for name, numbering in table.repeated_numbers.items()
    ]
    count = table.policy.count if table.policy is not None else None
    counts = [] if count is None else table.engine.count([count]).columns[count].values
    least = min((float(number) for number in counts if number is not None), default=0)
    if least >= LARGE_COUNT:
        notes.append(
            f"Note: every row stands for at least {least:,.0f} people of the data by the column {count}, so nobody "
            "looks alone. Is it a survey weight? Then name it by [data] weight instead of count in the policy."
        )
    weight = table.policy.weight if table.policy is not None else None
    weights = None if weight is None else table.engine.count((), survey=weight).weights
    if weights is not None and float(weights.sum()) > LARGEST_COUNTRY:
        notes.append(
            f"Warning: the weights in {weight} sum to {float(weights.sum()):,.0f} people, more than any country has, so risks look "
            "smaller than they are. Are decimals implied (SIPP and CPS have four)? Then divide them first."
        )
    return notes


def _one_sign(context: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    sign = {"tab": "\t", "\\t": "\t"}.get(given or "", given)
    if sign is not None and len(sign) != 1:
        raise UsageError("A delimiter is one character.", remedy="For example --delimiter ';' or --delimiter tab.")
    return sign


dialect_options = options(
    option("--encoding", metavar="NAME", help="Encoding of a CSV, such as cp1252 [detected]."),
    option("--delimiter", metavar="SIGN", callback=_one_sign, help="What separates the cells of a CSV [detected]."),
    option("--sheet", metavar="NAME", help="Sheet of a spreadsheet [the only one with a table]."),
    option(
        "--missing",
        multiple=True,
        metavar="CODE",
        help="Code for a missing value; may be given several times [detected].",
    ),
)
"""How a file is written, where that cannot be detected."""


def dialect_notes(table: Table, *, chosen: bool = False) -> list[str]:
    """What was found out about a file; where a policy was `chosen`, only what may have been guessed wrong."""
    from discreet.sources.files.csv_dialect import known

    found, policy = table.engine.dialect, table.policy
    guessed = found.get("encoding", "utf-8") != "utf-8" and (policy is None or policy.encoding is None)
    parts = []
    if "encoding" in found and (guessed or not chosen):
        sign = {"\t": "tab"}.get(found["delimiter"], found["delimiter"])
        parts.append(f"encoding {found['encoding']}, delimiter {sign}")
    if "sheet" in found and not chosen:
        parts.append(f"sheet {found['sheet']}")
    if found.get("labelled") and not chosen:
        parts.append(f"value labels for {', '.join(found['labelled'])}")
    if names := found.get("files"):
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        parts.append(f"files {', '.join(names[:10])}{more}")
    notes = [f"Note: {table.name} was read with {'; '.join(parts)}."] if parts else []
    said = policy.encoding if policy is not None else None
    if (
        said is not None
        and found.get("encoding") == "utf-8" != known(said)
        and known(said) not in ("utf-8-sig", "ascii")
    ):
        notes.append(f"Note: all letters of {table.name} are UTF-8, so it was read so, although {said} is declared.")
    return notes
