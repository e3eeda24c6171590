"""Writing beside the place, then putting into place: whatever fails, nothing half-written stays behind."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from discreet.errors import UsageError
from discreet.policy import Policy
from discreet.sources.engine import Engine
from discreet.sources.export.targets import FileTarget, Target, format_of, occupied, unfit
from discreet.sources.postgres.engine import SCHEMES
from discreet.sources.spark.engine import SparkEngine


def staged(
    target: str | Path, engine: Engine, policy: Policy, *, overwrite: bool = False
) -> AbstractContextManager[Target]:
    """A private place to write to, which becomes the target when the block ends well and vanishes when it does not."""
    if str(target).startswith(SCHEMES):
        return _server(str(target), engine, policy, overwrite=overwrite)
    format_of(str(target))
    mark = policy.delimiter or ","
    if isinstance(engine, SparkEngine):
        from discreet.sources.spark.export import staged_folder

        return staged_folder(engine.frame.sparkSession, str(target), delimiter=mark, overwrite=overwrite)
    return staged_file(Path(target), delimiter=mark, overwrite=overwrite)


def _server(url: str, engine: Engine, policy: Policy, *, overwrite: bool) -> AbstractContextManager[Target]:
    from discreet.sources.export.staging import staged_table

    if isinstance(engine, SparkEngine):
        raise unfit(engine.name, remedy="Write Parquet on the cluster, read it back with discreet, and export that.")
    return staged_table(url, count=policy.count, overwrite=overwrite)


@contextmanager
def staged_file(path: Path, *, delimiter: str, overwrite: bool) -> Iterator[Target]:
    """A file of the same name in a folder beside it that only this user can open."""
    _refuse(path, overwrite=overwrite)
    try:
        folder = Path(tempfile.mkdtemp(prefix=".discreet-", dir=path.parent))
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        yield FileTarget(str(folder / path.name), delimiter)
        _refuse(path, overwrite=overwrite)
        _put(folder / path.name, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse(path: Path, *, overwrite: bool) -> None:
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent}.", remedy="Create it first, or check the path.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", remedy="Give the name of a file.")
    if path.exists() and not overwrite:
        raise occupied(str(path))


def _put(written: Path, path: Path) -> None:
    try:
        written.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: str | Path, error: Exception) -> UsageError:
    """What went wrong, without what was being written."""
    return UsageError(
        f"{path} cannot be written ({type(error).__name__}).",
        remedy="Is the folder yours to write to, and is there space on the disk?",
    )
