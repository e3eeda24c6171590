"""`discreet help`, `completion`, `demo` and `demo-data`: getting to know Discreet."""

from __future__ import annotations

import inspect
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from discreet import __version__
from discreet.cli.options import folder_option, option, seed_option
from discreet.cli.output import CommandResult, heading, output, plain, working, write_text
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.people import DemoFiles, LinkFiles

EXIT_CODES = (
    ("0", "done, and within limits"),
    ("1", "done, and a limit is exceeded"),
    ("2", "the call cannot be understood"),
    ("3", "the data cannot be used"),
    ("4", "the policy cannot be used"),
    ("5", "refused, by a rule or a limit"),
    ("6", "something was changed that must not be"),
    ("69", "the store cannot be used"),
    ("70", "a bug"),
)
VARIABLES = (
    ("DISCREET_STORE", "where the store is: a path or a URL"),
    ("DISCREET_KEYS", "the file of keys that belongs to it"),
    ("DISCREET_DEBUG", "1 shows where a bug is, and may show values of people"),
    ("NO_COLOR", "any value turns colours off"),
)
TITLE = "A hospital shares its records: what that risks"
SOURCE = "Measured by discreet demo on generated people."


@click.command(name="help", short_help="Read the manual of a command.")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Read the manual of Discreet or of one command; on a terminal, page by page.

    \b
    Examples:
      discreet help
      discreet help release make
    """
    page = click.Context(context.find_root().command, info_name="discreet", max_content_width=100, terminal_width=100)
    for word in words:
        verb = page.command.get_command(page, word) if isinstance(page.command, click.Group) else None
        if verb is None:
            raise UsageError(f"There is no command '{plain(' '.join(words))}'.", remedy="See them with: discreet help")
        page = click.Context(verb, info_name=word, parent=page, max_content_width=100, terminal_width=100)
    described, formatter, name = page.command, page.make_formatter(), page.command_path
    short = described.get_short_help_str(200) if page.parent else "share person-level data knowing what it risks"
    title = f"{name.upper().replace(' ', '-')}(1)"
    formatter.write(f"{title:<40}Discreet {__version__:<30}{title:>20}\n".rstrip() + "\n")
    with page:
        texts = {
            "NAME": f"{name} - {short[:1].lower()}{short[1:].rstrip('.')}",
            "SYNOPSIS": " ".join([name, *described.collect_usage_pieces(page)]),
            "DESCRIPTION": inspect.cleandoc(described.help or "").partition("\f")[0],
        }
        for part, written in texts.items():
            with formatter.section(part):
                formatter.write_text(written)
        described.format_options(page, formatter)
    for part, rows in (("EXIT STATUS", EXIT_CODES), ("ENVIRONMENT", VARIABLES)):
        with formatter.section(part):
            formatter.write_dl(list(rows))
    text = click.unstyle(formatter.getvalue())
    text = text.replace("\nOptions:\n", "\nOPTIONS:\n").replace("\nCommands:\n", "\nCOMMANDS:\n")
    if sys.stdout.isatty():
        click.echo_via_pager(text)
    else:
        click.echo(text, nl=False)


@click.command(name="completion", short_help="Print a script that completes commands in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that lets SHELL complete commands and options.

    \b
    Examples:
      discreet completion bash > ~/.local/share/bash-completion/completions/discreet
      discreet completion zsh > ~/.zfunc/_discreet             (with ~/.zfunc in $fpath)
      discreet completion fish > ~/.config/fish/completions/discreet.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"There is no completion for {shell}.", remedy="Use bash, zsh or fish.")
    # click looks at the version of the shell that runs; the script may be for another machine.
    unchecked = type(kind.__name__, (kind,), {"_check_version": staticmethod(lambda: None)})
    click.echo(unchecked(context.find_root().command, {}, "discreet", "_DISCREET_COMPLETE").source())


@click.command(name="demo", short_help="Walk through every capability on generated people.")
@option("--people", type=click.IntRange(100_000, 50_000_000), default=1_000_000, help="People in the state.")
@seed_option("people")
@folder_option(default=Path("demo"))
def demo(people: int, seed: int, out: Path) -> None:
    """Walk through every capability on generated people, one chapter each, and write the reports.

    \b
    Example:
      discreet demo --out demo
    """
    from discreet.demo import chapters, store_chapters
    from discreet.people import write_demo

    store = chapters.fresh_store(out)
    with working(f"Generating {people:,} people"):
        stage = chapters.DemoStage(out, people, seed, write_demo(out, people=people, seed=seed), store)
    contrasts: list[chapters.Contrast] = []
    story = (
        chapters.the_data,
        chapters.who_can_be_singled_out,
        chapters.what_an_adversary_would_do,
        chapters.what_we_release,
        chapters.what_a_query_gives_away,
        store_chapters.who_leaked_it,
        store_chapters.what_it_costs_to_link,
        store_chapters.who_may_ask,
        chapters.the_whole_story,
    )
    for number, chapter in enumerate(story, start=1):
        click.echo()
        click.echo(heading(f"{number}. {chapter.__doc__}"))
        contrasts += chapter(stage)
    write_text(out / "story.svg", chapters.contrast_picture(contrasts, title=TITLE, source=SOURCE))
    click.echo()
    click.echo(heading("Next"))
    click.echo(
        f"Open {out / 'project.html'} in a browser for the whole report ({out / 'story.svg'} is a summary picture),"
    )
    click.echo("then try your own data:")
    click.echo(
        "  discreet policy init YOUR.csv --out policy.toml    (then read it, and discreet policy confirm policy.toml --all)"
    )
    click.echo("or explore the web application (extra `web`): discreet serve --demo")


@click.command(name="demo-data", short_help="Generate a synthetic population and a hospital extract.")
@option("--people", type=click.IntRange(1_000, 50_000_000), default=350_000, help="People in the state.")
@seed_option("people")
@folder_option(required=True)
@option("--linkage", is_flag=True, help="Write two tables to link, the truth and a link file instead.")
@output("Print the paths as JSON.")
def demo_data(people: int, seed: int, out: Path, linkage: bool) -> CommandResult:
    """Generate synthetic people: a public register, a hospital extract of it, and a policy.

    \b
    Examples:
      discreet demo-data --people 350000 --seed 1 --out demo
      discreet demo-data --people 13000000 --out big
      discreet demo-data --people 1000 --linkage --out to-link
    """
    from discreet.people import DemoFiles, write_demo, write_extracts

    with working(f"Generating {people:,} people"):
        write = write_extracts if linkage else write_demo
        files: DemoFiles | LinkFiles = write(out, people=people, seed=seed)
    if isinstance(files, DemoFiles):
        step = f"discreet assess {files.hospital} --policy {files.policy} --population {files.population}"
    else:
        step = f"discreet link init {files.first} {files.second} --spec {files.link} --out project"
    paths = {name: str(path) for name, path in asdict(files).items()}
    return CommandResult(lambda: paths, paths.values(), next_step=step)


EXPERTS = ("ann", "ben", "eva")
SCORES = {
    "Infection": 0.95,
    "Mind": 0.8,
    "Reproduction": 0.7,
    "Tumours": 0.6,
    "Nerves": 0.45,
    "Metabolism": 0.2,
    "Circulation": 0.15,
    "Digestion": 0.12,
    "Motion": 0.08,
    "Breathing": 0.06,
    "up to 30,000": 0.35,
    "over 30,000": 0.25,
}
"""What the simulated experts think of chapters of diagnoses and of incomes, apart from their errors."""


@click.command(name="generate", short_help="Generate a sample log and experts' answers.")
@folder_option(required=True)
@option("--days", type=click.IntRange(5, 400), default=40, help="Working days in the log.")
@option("--misusers", type=click.IntRange(0, 20), default=4, help="Users who misuse it.")
@seed_option("log")
@output("Print the paths as JSON.")
def generate(out: Path, days: int, misusers: int, seed: int) -> CommandResult:
    """Generate a log of 80 fictitious users, and three simulated experts' answers.

    \b
    Examples:
      discreet misuse generate --out demo
    """
    import numpy as np

    from discreet.cli.verbs.misuse_elicit import save
    from discreet.misuse.elicitation import Item, SimulatedExpert
    from discreet.misuse.generated import generate_log
    from discreet.misuse.log import write_line
    from discreet.people import diagnosis_hierarchy

    with working("Generating a log"):
        log = generate_log(np.random.default_rng(seed), days=days, misusers=misusers)
    paths = {"log": out / "log.jsonl", **{name: out / f"{name}.json" for name in EXPERTS}}
    write_text(paths["log"], "".join(write_line(scored) for scored in log.results))
    # Three experts on the diagnoses and incomes of the demo; the third errs most.
    chapters: dict[str, list[str]] = {}
    for row in diagnosis_hierarchy():
        chapters.setdefault(row[2], []).append(row[0])
    items = [Item("diagnosis", chapter, tuple(values)) for chapter, values in chapters.items()]
    items += [Item("income", "up to 30,000", upper=30_000.0), Item("income", "over 30,000")]
    scores = np.array([SCORES[item.label] for item in items])
    for number, name in enumerate(EXPERTS):
        expert = SimulatedExpert(scores, np.random.default_rng([seed, number]), comparing=0.3 + 0.2 * number)
        save(expert.interview(name, items, seed=number), paths[name])
    return CommandResult(
        lambda: {name: str(path) for name, path in paths.items()},
        map(str, paths.values()),
        next_step=f"discreet misuse anomalies {paths['log']}",
    )
