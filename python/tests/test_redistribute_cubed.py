"""relayout.cubed: plans of tasks on cubed's executors."""
import numpy as np
import pytest
import relayout
import relayout.cubed
from array_stores import counted, opened, stored

cubed = pytest.importorskip("cubed")


@pytest.mark.parametrize("executor, options", [("single-threaded", {}), ("threads", {}),
                                               ("processes", {"max_workers": 2}), (None, None)])
def test_executors(tmp_path, executor, options):
    x = counted((64, 64, 64))
    stored(tmp_path / "in.zarr", x, (1, 64, 64))
    spec = cubed.Spec(str(tmp_path / "work"), allowed_mem="200MB", reserved_mem="100MB", executor_name=executor,
                      executor_options=options)
    heard = []
    done = relayout.cubed.redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 1, 0), chunks=(4, 4, 64),
                                       spec=spec, max_memory="300kB" if executor else None,
                                       progress=lambda done, total: heard.append((done, total)))
    assert heard[-1][0] == heard[-1][1] and done.plan.max_memory <= (3e5 if executor else 5e7)
    assert (done.tasks > 3) == (executor is not None)
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], x.transpose(2, 1, 0))


def test_errors_are_relayouts(tmp_path):
    stored(tmp_path / "in.zarr", counted(), (10, 10, 10))
    (tmp_path / "in.zarr/c/1/2/3").unlink()
    spec = cubed.Spec(str(tmp_path / "work"), allowed_mem="200MB", executor_name="threads")
    with pytest.raises(relayout.CorruptError, match="chunk 'c/1/2/3'"):
        relayout.cubed.redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", chunks=(9, 8, 10), spec=spec)
