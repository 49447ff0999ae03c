"""relayout.dask and relayout.cubed: the same plans on workers that are other processes; one of them is killed."""
import os
import signal

import numpy as np
import pytest
import relayout
import relayout.dask
from array_stores import counted, is_no_array, opened, stored

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    import dask
    # Workers that are killed by these tests count as lost ones.
    with dask.config.set({"distributed.scheduler.allowed-failures": 10,
                          "distributed.worker.memory.terminate": False}):
        cluster = distributed.LocalCluster(n_workers=4, threads_per_worker=1, memory_limit="512MB",
                                           dashboard_address=None, local_directory=str(tmp_path_factory.mktemp("dask")))
        with cluster, distributed.Client(cluster) as client:
            yield client


def test_a_worker_is_killed(client, tmp_path):
    x = counted((64, 64, 64))
    stored(tmp_path / "in.zarr", x, (1, 64, 64))
    killed = []

    def progress(done, total):
        if not killed:
            killed.append(min(client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    done = relayout.dask.redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 1, 0), chunks=(4, 4, 64),
                                      max_memory="100kB", verify=True, progress=progress)
    assert killed and len(done.plan.passes) == 2 and done.tasks == done.plan.tasks
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], x.transpose(2, 1, 0))
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]
    client.wait_for_workers(4, timeout=120)


def test_harmed_chunks_are_named(client, tmp_path):
    stored(tmp_path / "in.zarr", counted(), (10, 10, 10))
    os.unlink(tmp_path / "in.zarr/c/1/2/3")
    with pytest.raises(relayout.CorruptError, match="chunk 'c/1/2/3'"):
        relayout.dask.redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 0, 1), chunks=(9, 8, 10))
    assert is_no_array(tmp_path / "out.zarr")
    # The same call goes on.
    stored(tmp_path / "whole.zarr", counted(), (10, 10, 10))
    os.rename(tmp_path / "whole.zarr/c/1/2/3", tmp_path / "in.zarr/c/1/2/3")
    os.utime(tmp_path / "in.zarr/c/1/2/3", (1, 1))
    relayout.dask.redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 0, 1), chunks=(9, 8, 10))
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], counted().transpose(2, 0, 1))


def test_arrays_of_dask(client, tmp_path):
    x = counted((20, 30, 40), "f8")
    for scratch in (None, tmp_path / "scratch"):
        y = relayout.dask.rearrange(da.from_array(x, chunks=(6, 30, 9)), "t y x -> y x t", chunks=(8, 8, 20),
                                    scratch=scratch)
        assert y.chunksize == (8, 8, 20)
        np.testing.assert_array_equal(y.compute(), x.transpose(1, 2, 0))
    with pytest.raises(relayout.UnsupportedError, match="the order alone"):
        relayout.dask.rearrange(da.from_array(x), "t y x -> (t y) x")
    with pytest.raises(relayout.ParseError):
        relayout.dask.rearrange(da.from_array(x), "t y -> y t")


def test_command(client, tmp_path, capsys):
    from relayout.redistribute.__main__ import main
    x = counted()
    stored(tmp_path / "in.zarr", x, (7, 11, 13))
    assert main([f"{tmp_path}/in.zarr", f"{tmp_path}/out.zarr", "--order", "1,0,2", "--chunks", "8,9,10",
                 "--max-memory", "45kB", "--dask", client.scheduler.address, "--verify"]) == 0
    assert "verified" in capsys.readouterr().out
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], x.transpose(1, 0, 2))


def test_what_workers_do_not_reach(client, tmp_path):
    zarr = pytest.importorskip("zarr")
    here = zarr.create_array({}, shape=(4, 4), dtype="i4", chunks=(2, 2))
    here[...] = 1
    with pytest.raises(relayout.UnsupportedError, match="in memory"):
        relayout.dask.redistribute(here, tmp_path / "out.zarr", chunks=(4, 1))


def test_no_client():
    if distributed.client._get_global_client() is not None:
        pytest.skip("there is one")
    with pytest.raises(relayout.InvalidArgumentError, match="no client"):
        relayout.dask.redistribute("in.zarr", "out.zarr")
