"""The file system a Spark cluster writes to, reached through the driver, since it need not be that of this machine."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import UsageError
from discreet.sources.export.targets import occupied
from discreet.sources.spark.engine import failures

FOLDERS = ("file:", "hdfs:")
"""File systems where a folder must be there before something is put into it; object stores have none."""


@dataclass(frozen=True)
class ClusterDisk:
    """One target on that file system, and a folder beside it for what is not finished."""

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
        with told(address):
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
        with told(self.target):
            if self.target.startswith(FOLDERS) and not self._exists(self._parent):
                raise UsageError(f"There is no folder {self._parent}.", remedy="Create it first, or check the path.")
            if self._exists(self.target) and not overwrite:
                raise occupied(self.target)

    def put(self, *, overwrite: bool) -> None:
        """Make what was written the target; what was there before goes only when that has worked."""
        self.refuse(overwrite=overwrite)
        old = f"{self._aside}/old"
        with told(self.target):
            replaced = self._exists(self.target) and self._move(self.target, old)
            if not self._move(self.stage, self.target):
                _ = replaced and self._move(old, self.target)
                raise UsageError(f"{self.target} cannot be written.", remedy="Is its folder yours to write to?")

    def make_parent(self) -> None:
        """Make the folder that the target will be in, if there is none."""
        with told(self.target):
            self.system.mkdirs(self.path(self._parent))

    def exists(self) -> bool:
        """Whether there is something at the target."""
        with told(self.target):
            return self._exists(self.target)

    def write(self, address: str, content: bytes) -> None:
        """Write a small file."""
        with told(address):
            out = self.system.create(self.path(address))
            try:
                out.write(bytearray(content))
            finally:
                out.close()

    def clear(self) -> None:
        """Remove whatever is left aside."""
        with suppress(UsageError), told(self.target):
            self.system.delete(self.path(self._aside), True)

    def _exists(self, address: str) -> bool:
        return bool(self.system.exists(self.path(address)))

    def _move(self, start: str, end: str) -> bool:
        return bool(self.system.rename(self.path(start), self.path(end)))


@contextmanager
def told(address: str) -> Iterator[None]:
    """Errors of the driver as ours."""
    try:
        yield
    except failures() as error:
        raise UsageError(
            f"{address} cannot be written ({type(error).__name__}).", remedy="The log of the driver says more."
        ) from None
