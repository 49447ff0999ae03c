"""For tests of the slow tier that need PyPI's package onnx: goes on in a Python that has it, or skips the test."""
import importlib
import os
import sys
from pathlib import Path

SKIPPED = 77
# Where scripts/install slow puts the package.
PYTHON = Path(__file__).resolve().parents[2] / "build" / "onnx" / "bin" / "python3"


def skip(why):
    print("skipped: %s" % why)
    sys.exit(SKIPPED)


def with_onnx(module="onnx"):
    """This Python, or that of scripts/install slow; skips where RELAYOUT_SLOW_TESTS is not set or neither has onnx."""
    if os.environ.get("RELAYOUT_SLOW_TESTS", "0") in ("", "0"):
        skip("slow: set RELAYOUT_SLOW_TESTS=1")
    try:
        importlib.import_module(module)
    except ImportError:
        if Path(sys.executable) == PYTHON or not PYTHON.exists():
            skip("there is no Python package onnx; scripts/install slow gets it")
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
