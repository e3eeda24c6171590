"""Spark cluster: quoting, errors, and its file system reached through the driver."""

from __future__ import annotations

import importlib.util
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import SourceUnreadable, UsageError
from discreet.sources.export.targets import occupied
from discreet.wording import reason

RESULT_LIMIT = "spark.driver.maxResultSize"
"""The setting of a session that bounds what a job may send to the driver, 1 GB unless set."""
FOLDERS = ("file:", "hdfs:")
"""File systems where a folder must be there before something is put into it; object stores have none."""


def quote(name: str) -> str:
    """A name as Spark quotes it, braces doubled: statements name frames by {braces}."""
    return "`" + name.replace("`", "``").replace("{", "{{").replace("}", "}}") + "`"


def matches(text: str, pattern: str) -> str:
    """Whether a text matches a pattern, in SQL, braces doubled."""
    escaped = pattern.replace("'", "\\'").replace("{", "{{").replace("}", "}}")
    return f"{text} RLIKE '{escaped}'"


@contextmanager
def translated(task: str = "count") -> Iterator[None]:
    """Errors of the cluster as ours. Their text is dropped: it may quote rows."""
    try:
        yield
    except failures() as error:
        if too_much(error):
            raise SourceUnreadable(
                f"Spark could not {task} the frame: more would come to the driver than it takes ({RESULT_LIMIT}).",
                remedy="Name fewer or coarser columns, take a part of the frame at a time, or give the driver more memory and raise that limit.",
            ) from None
        condition = (error.getCondition() if hasattr(error, "getCondition") else None) or type(error).__name__
        raise SourceUnreadable(
            f"Spark could not {task} the frame ({condition}).", remedy="The log of the cluster says more."
        ) from None


def too_much(error: Exception) -> bool:
    """Whether Spark stopped because the driver would have got too much."""
    return RESULT_LIMIT in str(error)


def failures() -> tuple[type[Exception], ...]:
    """What Spark raises; the thin client does without Py4J."""
    from pyspark.errors import PySparkException

    if importlib.util.find_spec("py4j") is None:
        return (PySparkException,)
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    return PySparkException, Py4JError


@dataclass(frozen=True)
class ClusterDisk:
    """A target on the file system of a cluster, staged beside it.

    The file system need not be that of this machine, so it is reached through the driver.
    """

    target: str
    system: Any = field(repr=False)
    path: Any = field(repr=False)
    """What makes a path of a text."""
    token: str = field(default_factory=lambda: secrets.token_hex(6))

    @classmethod
    def of(cls, session: Any, address: str) -> ClusterDisk:
        """The file system that the address names, or the cluster's own."""
        jvm = getattr(session, "_jvm", None)
        if jvm is None:
            raise UsageError(
                "Over Spark Connect the files of the cluster can be neither moved nor removed.",
                remedy="Export from a session on the driver itself.",
            )
        with disk_errors(address):
            path = jvm.org.apache.hadoop.fs.Path
            system = path(address).getFileSystem(session._jsc.hadoopConfiguration())
            return cls(system.makeQualified(path(address)).toString(), system, path)

    @property
    def _parent(self) -> str:
        return self.target.rpartition("/")[0]

    @property
    def _aside(self) -> str:
        return f"{self._parent}/.discreet-{self.token}"

    @property
    def stage(self) -> str:
        """Where to write; it carries the name of the target."""
        return f"{self._aside}/{self.target.rpartition('/')[2]}"

    def refuse(self, *, overwrite: bool) -> None:
        """Stop if the target cannot be made."""
        with disk_errors(self.target):
            if self.target.startswith(FOLDERS) and not self._exists(self._parent):
                raise UsageError(f"There is no folder {self._parent}.", remedy="Create it first, or check the path.")
            if self._exists(self.target) and not overwrite:
                raise occupied(self.target)

    def put(self, *, overwrite: bool) -> None:
        """Make what was written the target.

        What was there before is removed only when that has worked.
        """
        self.refuse(overwrite=overwrite)
        old = f"{self._aside}/old"
        with disk_errors(self.target):
            replaced = self._exists(self.target) and self._move(self.target, old)
            if not self._move(self.stage, self.target):
                _ = replaced and self._move(old, self.target)
                raise UsageError(f"{self.target} cannot be written.", remedy="Is its folder yours to write to?")

    def make_parent(self) -> None:
        """Make the folder that the target will be in, if there is none."""
        with disk_errors(self.target):
            self.system.mkdirs(self.path(self._parent))

    def exists(self) -> bool:
        """Whether there is something at the target."""
        with disk_errors(self.target):
            return self._exists(self.target)

    def write(self, address: str, content: bytes) -> None:
        """Write a small file."""
        with disk_errors(address):
            out = self.system.create(self.path(address))
            try:
                out.write(bytearray(content))
            finally:
                out.close()

    def clear(self) -> None:
        """Remove whatever is left aside."""
        with suppress(UsageError), disk_errors(self.target):
            self.system.delete(self.path(self._aside), True)

    def _exists(self, address: str) -> bool:
        return bool(self.system.exists(self.path(address)))

    def _move(self, start: str, end: str) -> bool:
        return bool(self.system.rename(self.path(start), self.path(end)))


@contextmanager
def disk_errors(address: str) -> Iterator[None]:
    """Errors of the cluster's file system as ours."""
    try:
        yield
    except failures() as error:
        raise UsageError(
            f"{address} cannot be written ({reason(error)}).", remedy="The log of the driver says more."
        ) from None
