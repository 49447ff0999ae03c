"""A few hundred random round trips of files between NumPy, the package safetensors, this package, its C++ library and
the command; fuzz_files.py makes as many as one likes. The slow tier makes 20,000."""
import os
import sys

import pytest

pytest.importorskip("ml_dtypes")
import fuzz_files  # noqa: E402 - which needs ml_dtypes


def command():
    """The command that is to be tested, or that was installed with this package."""
    beside = os.path.join(os.path.dirname(sys.executable), "relayout")
    return os.environ.get("RELAYOUT_COMMAND") or (beside if os.path.exists(beside) else None)


def test_round_trips():
    slow = os.environ.get("RELAYOUT_SLOW_TESTS")
    counts, failures = fuzz_files.run(20000 if slow else 600, 1000, command(), 4)
    total = sum(counts.values(), fuzz_files.collections.Counter())
    print(dict(total))
    assert not failures, "\n".join(failures[:10])
    assert total["equal"] > 400 and total["refused"] > 0 and total["equal as bits"] > 0


def test_a_wrong_value_is_found(monkeypatch):
    """The comparison itself: one bit that is read wrong is a failure, as are a lost shape and a lost type."""
    array = fuzz_files.relayout._tensor.Tensor.array

    def reads_wrong(change):
        monkeypatch.setattr(fuzz_files.relayout._tensor.Tensor, "array",
                            lambda self, dtype=None, **how: change(array(self, dtype, **how)))
        return fuzz_files.run(900, 7)[1]

    assert not reads_wrong(lambda x: x)
    assert reads_wrong(lambda x: x.reshape(-1))
    assert reads_wrong(lambda x: x.view("u2") if x.dtype.name == "bfloat16" else x)
    assert reads_wrong(lambda x: x[::-1] if x.ndim else x)
