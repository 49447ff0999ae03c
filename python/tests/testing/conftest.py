"""Finds the package beside the tests where it is not installed, and loads its plugin where no entry point does."""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import relayout.testing  # noqa: F401
except ImportError:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
