"""Files between NumPy, the package safetensors, relayout and its command: some hundred random round trips; more by
round_trips.py itself."""
import os
import shutil

import pytest

pytest.importorskip("ml_dtypes")

import round_trips  # noqa: E402


def test_round_trips_of_files():
    root = os.environ.get("RELAYOUT_ROOT", "")
    built = os.path.join(root, "build/release/tools/relayout")
    command = built if root and os.access(built, os.X_OK) else shutil.which("relayout")
    said = []
    assert round_trips.run(400, 1, command, said.append) == [], "\n".join(said)
    assert "round trips, 0 wrong" in said[-1]
