"""Faults in kernels of one to three arguments are found, the argument is named, and the lines reported fail alone.

The kernels are those of models: attention, layer norm, matmul, concat, gather, softmax, batch norm, pooling and others,
in C, NumPy and PyTorch. What is right passes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Any

import faults_c
import faults_numpy
import faults_torch
import numpy as np
import pytest

from relayout.testing import LayoutDifference, LayoutError, assert_layout_invariant

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of what lies in gaps
FAULTS = {**faults_c.FAULTS, **faults_numpy.FAULTS, **faults_torch.FAULTS}


def arguments(name: str) -> list[Any]:
    """Arguments with numbers that differ; integer arrays are indices and stay."""
    random = np.random.default_rng(3)
    made = []
    for shape in FAULTS[name].arguments:
        array = random.standard_normal(shape).astype(np.float32) if isinstance(shape, tuple) else shape.copy()
        made.append(array if name not in faults_torch.FAULTS else sys.modules["torch"].from_numpy(array))
    return made


def skip_what_is_missing(name: str) -> None:
    if name in faults_torch.FAULTS:
        pytest.importorskip("torch")
    if name in faults_c.FAULTS and shutil.which("cc") is None:
        pytest.skip("no C compiler")


def found(name: str) -> LayoutError:
    skip_what_is_missing(name)
    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(FAULTS[name].wrong, *arguments(name))
    return caught.value


def test_there_are_forty() -> None:
    assert len(FAULTS) >= 40
    assert {len(fault.arguments) for fault in FAULTS.values()} == {1, 2, 3}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_named_with_lines_that_fail(name: str) -> None:
    fault = FAULTS[name]
    error = found(name)
    assert error.argument == ((0, 1) if fault.at == "both" else (fault.at,))
    assert error.variant and all(error.variant.split(", "))
    assert f"argument {error.argument[0]}: " in str(error)
    if fault.explanation:
        assert error.explanation is not None and error.explanation.endswith(fault.explanation), str(error)
    names: dict[str, Any] = {}
    with pytest.raises(LayoutDifference):
        exec(error.script, names)
    assert all(np.prod(tuple(array.shape)) <= 16 for array in names["args"]), str(error)
    assert not any("did not fail" in note for note in error.notes)


@pytest.mark.parametrize("name", FAULTS)
def test_right_kernel_passes(name: str) -> None:
    skip_what_is_missing(name)
    assert assert_layout_invariant(FAULTS[name].right, *arguments(name)) >= 5


@pytest.mark.parametrize("name", ["attention_k", "torch_attention_k"])
def test_lines_fail_in_an_interpreter_of_their_own(name: str) -> None:
    script = found(name).script
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "LayoutDifference: " in done.stderr, done.stderr
