"""What CuTe's algebra and swizzles are compared with, pycute and tensor_layouts: None where one is missing.
A script that imports this is run again by the Python that has them, and ends as skipped where there are none."""
import os
import sys
from pathlib import Path

# Where scripts/install slow puts the packages.
PYTHON = Path(__file__).resolve().parents[2] / "build" / "cute" / "bin" / "python3"
SKIPPED = 77

try:
    import pycute
    if not hasattr(pycute, "composition"):
        pycute = None  # PyPI has another package of this name
except ImportError:
    pycute = None
try:
    import tensor_layouts
except ImportError:
    tensor_layouts = None
if pycute is None or tensor_layouts is None:
    if PYTHON.exists() and Path(sys.prefix) != PYTHON.parents[1]:
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    if pycute is None and tensor_layouts is None:
        print("skipped: there are no Python packages pycute (PyPI's nvidia-cutlass) and tensor_layouts (PyPI's "
              "tensor-layouts); scripts/install slow gets them")
        sys.exit(SKIPPED)
