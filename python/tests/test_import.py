"""`import relayout` is all that one types: its modules are there and found by completion, yet not imported early."""
import subprocess
import sys

import pytest
import relayout


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("use", ["relayout.testing.layouts((2, 3))", "relayout.testing.assert_layout_invariant",
                                 "relayout.opencl.problem()", "relayout.testing.VARIANTS['sliced']",
                                 "relayout.checkpoint.open", "relayout.redistribute.redistribute",
                                 "relayout.dask.rearrange", "relayout.cubed.redistribute"])
def test_one_import_is_enough(use):
    run(f"import relayout; {use}")


def test_completion_finds_the_modules():
    assert {"testing", "opencl", "checkpoint", "redistribute", "dask", "cubed", "mpi", "convert",
            "interop"} <= set(dir(relayout))
    assert {"assert_layout_invariant", "layouts", "strategies"} <= set(dir(relayout.testing))


def test_nothing_is_imported_early():
    early = ("relayout.testing", "relayout.opencl", "relayout.checkpoint", "relayout.redistribute", "zarr", "torch",
             "jax", "hypothesis", "pytest", "ml_dtypes")
    assert run(f"import sys, relayout; dir(relayout); print([n for n in {early} if n in sys.modules])") == "[]"


def test_other_names_are_errors():
    for module in (relayout, relayout.testing):
        with pytest.raises(AttributeError, match="has no attribute 'layuots'"):
            module.layuots
