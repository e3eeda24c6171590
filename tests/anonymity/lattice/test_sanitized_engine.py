"""The engine in C under the sanitizers of the compiler: no access out of bounds, no undefined step, and numpy's results."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.anonymity.lattice import native_engine

SOURCE = native_engine.LIBRARY.with_name("engine.c")
ROUNDS = """
import sys, types
from pathlib import Path
import numpy as np
from discreet.anonymity import LOSSES, anonymise
from discreet.anonymity.lattice import native_engine
from discreet.errors import UsageError
from discreet.kernel import AnyValue, Classes, Widths

native_engine.library.cache_clear()
native_engine.LIBRARY = Path(sys.argv[1])
sanitized = native_engine.load(native_engine.LIBRARY)
assert sanitized is not None
native_engine.library = lambda: sanitized
rng, alike = np.random.default_rng(int(sys.argv[2])), 0
for round in range(int(sys.argv[3])):
    columns = int(rng.integers(1, 7))
    sizes = rng.integers(1, rng.choice([3, 12, 60, 400]), columns)
    people = int(rng.choice([1, 5, 40, 300, 2000]))
    cells = [np.minimum(rng.geometric(min(1.0, 3 / (size + 1)), people), size).astype(str).tolist() for size in sizes]
    names = [f"q{place}" for place in range(columns)]
    rules = {name: Widths((2, 8)) if rng.random() < 0.6 else AnyValue() for name in names}
    classes = Classes.of(names, list(zip(*cells)), rules=rules)
    options = {
        "k": int(rng.integers(1, min(people, 6) + 1)),
        "suppression": float(rng.choice([0, 0.03, 0.2, 1.0])),
        "loss": list(LOSSES)[round % len(LOSSES)],
    }
    found = []
    for engine in ("numpy", "compiled"):
        try:
            result = anonymise(classes, engine=engine, **options)
            found.append((result.levels, result.loss, result.suppressed, result.classes, result.certificate))
        except UsageError as error:
            found.append(error.problem)
    assert found[0] == found[1], (round, options, found)
    alike += 1
print(alike)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_memory_and_arithmetic_are_sound(tmp_path: Path, seed: int) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    library = tmp_path / "engine.so"
    flags = [
        "-O1",
        "-g",
        "-shared",
        "-fPIC",
        "-ffp-contract=off",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ]
    subprocess.run(["gcc", *flags, "-o", str(library), str(SOURCE), "-lm"], check=True)
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True)
    # Python itself is not built for this: what it leaves at its end is not ours.
    environment = {"LD_PRELOAD": runtime.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", ROUNDS, str(library), str(seed), "400"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["400"]
