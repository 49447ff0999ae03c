"""The first example of docs/python-testing.md prints what the page shows."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from relayout.testing import LayoutError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python-testing.md"


def test_first_example(tmp_path: Path) -> None:
    if not PAGE.exists():
        pytest.skip("the documents are not here")
    blocks = re.findall(r"```(python|text)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert [kind for kind, _ in blocks[:2]] == ["python", "text"]
    (tmp_path / "row_sums.py").write_text(blocks[0][1])
    with pytest.raises(LayoutError) as caught:
        runpy.run_path(str(tmp_path / "row_sums.py"))
    assert f"relayout.testing.errors.LayoutError: {caught.value}\n" == blocks[1][1]
