"""libFuzzer looks for bytes by coverage: python -m tests.gateway.libfuzzer [its options], with atheris installed."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["discreet.gateway"]):
    from tests.gateway.fuzzing import one_input

if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
