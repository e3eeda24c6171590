"""Extra remote: a file in a store of objects is read; without the package of a store, the error names it."""

from __future__ import annotations

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

import discreet
from discreet.errors import UsageError


class Bucket(MemoryFileSystem):
    """A store of objects in memory."""

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("s3://").lstrip("/")


fsspec.register_implementation("s3", Bucket, clobber=True)
Bucket().pipe("/bucket/people.csv", b"sex,age\nF,1\nM,2\n")
assert discreet.read("s3://bucket/people.csv").records == 2
missing = ""
try:
    discreet.read("gs://bucket/people.csv")
except UsageError as error:
    missing = str(error)
assert "gcsfs" in missing
