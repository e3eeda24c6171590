"""Extra formats: a file of SPSS with its labels, Feather, and a CSV compressed with zstd."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow
import pyarrow.feather
import pyreadstat
import python_calamine

import discreet

folder = Path(tempfile.mkdtemp())
assert python_calamine.CalamineWorkbook
pyarrow.feather.write_feather(pyarrow.table({"sex": ["F", "M"]}), folder / "a.feather")
(folder / "a.csv.zst").write_bytes(pyarrow.compress(b"sex\nF\nM\n", codec="zstd", asbytes=True))
assert pyreadstat.read_sav
for name in ("a.feather", "a.csv.zst"):
    assert discreet.read(folder / name).records == 2
