"""Files of data sets: the folder, tables opened from it, sealed passwords."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from discreet.errors import IntegrityError, SourceNotFound, StoreUnreachable
from discreet.kernel import Coded, Histogram, Recoding, Tally
from discreet.ledger.keys import Keys
from discreet.policy import Policy
from discreet.policy.schema import Formulas
from discreet.sources import Engine, Field, Numbering, Table, read
from discreet.sources.engine import Cells, CopyFolders, Marked, Pool, Target
from discreet.sources.files.formats import ENDINGS
from discreet.web.datasets.inspection import ServerTable, allowed_or_none
from discreet.web.datasets.store import Dataset

if TYPE_CHECKING:
    from nacl.secret import SecretBox

    from discreet.sources.duckdb_scratch import DuckDBDesk


# The folder of one store's files: what was uploaded and what jobs wrote, readable by no other user of the machine.
OURS = re.compile(rf"(upload|result|copy)-[0-9a-f-]+(\.({'|'.join(ENDINGS)})){{1,2}}")
WORKSHOP = "work-"
FORGOTTEN = 3_600.0
"""Seconds after which a file that nothing in the store speaks of was left behind by a crash."""


@dataclass(frozen=True)
class Folder:
    """A folder for each store, so that two never sweep out each other's files."""

    path: Path

    @classmethod
    def of(cls, data: Path, ledger: str) -> Folder:
        """The folder of the store with this ledger; made if there is none."""
        path = data / ledger
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.chmod(0o700)
        except OSError as error:
            raise unwritable(error) from None
        return cls(path.resolve())

    def new(self, kind: str, ending: str) -> Path:
        """A name that was not used before: `upload-...`, `result-...` or `copy-...`."""
        return self.path / f"{kind}-{secrets.token_hex(16)}.{ending}"

    @contextmanager
    def workshop(self) -> Iterator[Path]:
        """A private folder that is deleted when the block ends."""
        try:
            made = Path(tempfile.mkdtemp(prefix=WORKSHOP, dir=self.path))
        except OSError as error:
            raise unwritable(error) from None
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def create(self, path: Path) -> IO[bytes]:
        """A new file there that only its owner may read."""
        try:
            return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")
        except OSError as error:
            raise unwritable(error) from None

    def find(self, name: str) -> Path | None:
        """A file of ours by its name."""
        path = self.path / name
        return path if OURS.fullmatch(name) and path.is_file() and not path.is_symlink() else None

    def forget(self, names: Collection[str]) -> None:
        """Delete files of ours."""
        for name in names:
            if OURS.fullmatch(name):
                (self.path / name).unlink(missing_ok=True)

    def sweep(self, known: Collection[str]) -> list[str]:
        """Delete old files of ours that the store does not know."""
        now, swept = time.time(), []
        for workshop in self.path.glob(f"{WORKSHOP}*"):
            if workshop.is_dir() and now - workshop.stat().st_mtime > 24 * FORGOTTEN:  # much work takes long
                shutil.rmtree(workshop, ignore_errors=True)
        for path in self.path.iterdir():
            if path.name not in known and OURS.fullmatch(path.name) and now - path.stat().st_mtime > FORGOTTEN:
                swept.append(path.name)
        self.forget(swept)
        return swept


def unwritable(error: OSError) -> StoreUnreachable:
    """The folder cannot be used; not a word of what was to be written."""
    return StoreUnreachable(
        f"The folder for data cannot be written ({type(error).__name__}).",
        remedy="The operator of this server must give it a folder with enough space.",
    )


CHUNK = 1024 * 1024


@dataclass(frozen=True)
class DatasetPlaces:
    """Where data sets may be."""

    folder: Folder
    folders: tuple[Path, ...]
    keys: Keys

    def path(self, dataset: Dataset) -> Path | None:
        """The file of a data set, if any; looked up every time."""
        if dataset.kind == "postgres":
            return None
        if dataset.kind == "upload":
            path = self.folder.find(dataset.place)
        else:
            path = allowed_or_none(dataset.place, self.folders)
        if path is None:
            raise SourceNotFound(
                f"The file of {dataset.name} is not there any more, or its folder is not open any more.",
                remedy="Put it back, or remove the data set and add it again.",
            )
        return path

    def open(self, dataset: Dataset, policy: Policy, counted: Callable[[], None]) -> Table:
        """The table, seen through a policy; `counted` is called after every count."""
        watched = WatchedEngine(self.bare(dataset, policy).engine, dataset.name, counted)
        return Table(watched, policy)

    def bare(self, dataset: Dataset, policy: Policy) -> Table:
        """The table on the engine that holds it, for work that needs its rows."""
        path = self.path(dataset)
        if path is not None:
            return read(path, policy)
        password = None if dataset.secret is None else unseal(self.keys, dataset.secret)
        return read(ServerTable(dataset.place, password).url(), policy)

    def hash(self, dataset: Dataset) -> str | None:
        """SHA-256 of the file as it is now; None for a server."""
        path = self.path(dataset)
        return None if path is None else hash_of(path)


def hash_of(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, eq=False)
class WatchedEngine:
    """An engine that says when it has counted, named like the data set."""

    engine: Engine
    name: str
    counted: Callable[[], None]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return self.engine.fields

    @property
    def ordered(self) -> bool:
        """Whether rows are fetched in the order of the source."""
        return self.engine.ordered

    @property
    def dialect(self) -> Mapping[str, Any]:
        """How its file is written."""
        return self.engine.dialect

    def progress(self) -> float | None:
        """Share done of the statement that runs now."""
        return self.engine.progress()

    def count(self, by: Sequence[str], *, weight: str | None = None, survey: str | None = None) -> Histogram:
        """People per distinct tuple."""
        histogram = self.engine.count(by, weight=weight, survey=survey)
        self.counted()
        return histogram

    def count_each(
        self, names: Sequence[str], *, weight: str | None = None, beside: Sequence[str] = ()
    ) -> Iterator[Histogram]:
        """People per distinct value of each column alone."""
        for histogram in self.engine.count_each(names, weight=weight, beside=beside):
            self.counted()
            yield histogram

    def tallies(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Tally]:
        """People per value of each column alone."""
        for tally in self.engine.tallies(names, weight=weight):
            self.counted()
            yield tally

    def numbering(self, column: str) -> Numbering:
        """Whether the numbers of a column are on one row each."""
        return self.engine.numbering(column)

    def fetch(self, names: Sequence[str], *, most: int | None = None) -> dict[str, Coded]:
        """The cells of some columns."""
        return self.engine.fetch(names, most=most)

    def chosen(self, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
        """The rows that a recoding publishes."""
        return self.engine.chosen(recoding, drop=drop)

    def desk(self, names: Sequence[str]) -> AbstractContextManager[DuckDBDesk]:
        """These columns on a DuckDB connection."""
        return self.engine.desk(names)

    def staged(self, target: str, policy: Policy, *, overwrite: bool) -> AbstractContextManager[Target]:
        """A private place to write to."""
        return self.engine.staged(target, policy, overwrite=overwrite)

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write the rows as the recoding publishes them."""
        return self.engine.export(recoding, target, drop=drop, shuffled=shuffled)

    def arrow(self, recoding: Recoding, *, drop: Sequence[str]) -> Any:
        """The published rows as an Arrow table."""
        return self.engine.arrow(recoding, drop=drop)

    def formula_cells(self, recoding: Recoding, *, drop: Sequence[str]) -> int:
        """Cells of the published rows that a spreadsheet would run."""
        return self.engine.formula_cells(recoding, drop=drop)

    def folders(self, out: str, *, delimiter: str, formulas: Formulas = "quote") -> AbstractContextManager[CopyFolders]:
        """Where the folders of copies are made."""
        return self.engine.folders(out, delimiter=delimiter, formulas=formulas)

    def copies(
        self, recoding: Recoding, marked: Marked, *, drop: Sequence[str], folder: Path | None, guarded: bool
    ) -> AbstractContextManager[Pool]:
        """The pool that copies of a release are written from."""
        return self.engine.copies(recoding, marked, drop=drop, folder=folder, guarded=guarded)


# Passwords of other servers: encrypted in the store, with a key that is beside it and not in it.
#
# A copy of the database alone does not reveal them; together with the file of keys it does.
PERSON = b"discreet-sealed"


def seal(keys: Keys, text: str) -> str:
    """Encrypt (XSalsa20 with Poly1305, a random nonce).

    >>> keys = Keys.generate()
    >>> unseal(keys, seal(keys, "secret"))
    'secret'
    """
    return bytes(_box(keys).encrypt(text.encode())).hex()


def unseal(keys: Keys, sealed: str) -> str:
    """Decrypt; an error if it was changed, or if the keys are others."""
    from nacl.exceptions import CryptoError

    try:
        return bytes(_box(keys).decrypt(bytes.fromhex(sealed))).decode()
    except (CryptoError, ValueError):
        raise IntegrityError(
            "The stored password of a data set cannot be opened with these keys.",
            remedy="Give the right keys in DISCREET_KEYS, or register the table again.",
        ) from None


def _box(keys: Keys) -> SecretBox:
    from nacl.secret import SecretBox

    return SecretBox(hashlib.blake2b(keys.values, digest_size=32, person=PERSON).digest())
