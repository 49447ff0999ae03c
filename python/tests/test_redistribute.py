"""relayout.redistribute on one machine: arrays in chunks into other chunks and orders of axes; NumPy is the oracle."""
import itertools
import os

import numpy as np
import pytest
import relayout
from array_stores import counted, opened, stored, zarr
from relayout.redistribute import bytes_of, prepare, redistribute


@pytest.mark.parametrize("order", [None, *itertools.permutations(range(3))])
@pytest.mark.parametrize("max_memory", ["10MB", "45kB"])
def test_all_orders(tmp_path, order, max_memory):
    x = counted()
    stored(tmp_path / "in.zarr", x, (7, 11, 13), dimension_names=["t", "y", "x"], attributes={"units": "K"})
    done = redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=order, chunks=(9, 8, 10),
                        max_memory=max_memory, verify=True)
    order = order or (0, 1, 2)
    made = opened(tmp_path / "out.zarr")
    np.testing.assert_array_equal(made[...], x.transpose(order))
    assert made.chunks == (9, 8, 10) and dict(made.attrs) == {"units": "K"}
    assert made.metadata.dimension_names == tuple("tyx"[d] for d in order)
    assert done.tasks == done.plan.tasks and done.plan.errors() == []
    assert (done.tasks > 1) == (max_memory == "45kB")
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]


def test_through_an_intermediate_store(tmp_path):
    x = counted((64, 64, 64))
    stored(tmp_path / "in.zarr", x, (1, 64, 64))
    done = redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 1, 0), chunks=(4, 4, 64),
                        max_memory="100kB", verify=True)
    assert len(done.plan.passes) == 2 and "an intermediate store" in done.explain()
    assert done.plan.bytes_read + done.plan.bytes_written <= 3 * done.plan.least_bytes
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], x.transpose(2, 1, 0))
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]


@pytest.mark.parametrize("compressors", [None, "auto"])
def test_memory(tmp_path, compressors):
    """Of the arrays and texts that Python and NumPy allocate while 16 MiB pass through 2 MB."""
    import tracemalloc
    x = counted((128, 128, 128), "f8")
    stored(tmp_path / "in.zarr", x, (2, 128, 64), compressors=compressors)
    redistribute(tmp_path / "in.zarr", tmp_path / "first.zarr", order=(2, 1, 0), chunks=(16, 16, 64), max_memory="2MB")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    done = redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 1, 0), chunks=(16, 16, 64),
                        max_memory="2MB")
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert done.tasks > 8 and 1e6 < peak < 2.2e6, peak
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], x.transpose(2, 1, 0))


@pytest.mark.parametrize("dtype", ["u1", "f2", "f8", "c8", "c16", "M8[s]", "?", ">i4", [("a", "i4"), ("b", "f4")]])
def test_types(tmp_path, dtype):
    x = (counted((5, 6, 7)) % 2).astype(dtype) if dtype == "?" else counted((5, 6, 7)).astype(dtype)
    stored(tmp_path / "in.zarr", x, (2, 6, 3))
    redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(1, 2, 0), chunks=(4, 4, 4), max_memory="9kB",
                 missing="fill", verify=True)
    made = opened(tmp_path / "out.zarr")
    assert made.dtype == opened(tmp_path / "in.zarr").dtype
    np.testing.assert_array_equal(made[...], x.transpose(1, 2, 0))


def test_shards_and_compression(tmp_path):
    x = counted()
    codec = zarr.codecs.GzipCodec(level=1)
    stored(tmp_path / "in.zarr", x, (5, 10, 10), shards=(10, 20, 50), compressors=codec,
           filters=[zarr.codecs.TransposeCodec(order=(2, 1, 0))])
    redistribute(tmp_path / "in.zarr", tmp_path / "a.zarr", order=(1, 2, 0), chunks=(10, 25, 5), shards=(20, 50, 15),
                 max_memory="400kB", verify=True)
    made = opened(tmp_path / "a.zarr")
    assert made.shards == (20, 50, 15) and made.chunks == (10, 25, 5) and made.compressors == (codec,)
    np.testing.assert_array_equal(made[...], x.transpose(1, 2, 0))
    redistribute(tmp_path / "a.zarr", tmp_path / "b.zarr", order=(2, 0, 1), chunks=(30, 40, 5), compression=None,
                 workers=3)
    made = opened(tmp_path / "b.zarr")
    assert made.shards is None and made.compressors == ()
    np.testing.assert_array_equal(made[...], x)


def test_version_2(tmp_path):
    x = counted()
    stored(tmp_path / "in.zarr", x, (7, 11, 13), zarr_format=2, attributes={"_ARRAY_DIMENSIONS": ["t", "y", "x"]})
    redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 0, 1), chunks=(9, 8, 10))
    made = opened(tmp_path / "out.zarr")
    assert made.metadata.zarr_format == 2 and made.attrs["_ARRAY_DIMENSIONS"] == ["x", "t", "y"]
    np.testing.assert_array_equal(made[...], x.transpose(2, 0, 1))


# ---- Where no data moves ----

@pytest.mark.parametrize("order", [None, (2, 0, 1), (1, 0, 2)])
def test_metadata_says_the_order(tmp_path, order):
    x = counted()
    stored(tmp_path / "in.zarr", x, (7, 11, 13))
    done = redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=order)
    assert done.plan is None and "no data moves" in done.explain() and done.linked == 5 * 4 * 4
    made = opened(tmp_path / "out.zarr")
    order = order or (0, 1, 2)
    np.testing.assert_array_equal(made[...], x.transpose(order))
    old, new = (os.stat(tmp_path / name / "c" / key) for name, key in
                (("in.zarr", "1/2/3"), ("out.zarr", "/".join("123"[d] for d in order))))
    assert (old.st_ino, old.st_dev) == (new.st_ino, new.st_dev)
    # And back, through an order that is a codec already.
    back = [order.index(d) for d in range(3)]
    assert redistribute(tmp_path / "out.zarr", tmp_path / "back.zarr", order=back).plan is None
    assert opened(tmp_path / "back.zarr").metadata.codecs == opened(tmp_path / "in.zarr").metadata.codecs
    np.testing.assert_array_equal(opened(tmp_path / "back.zarr")[...], x)
    done = redistribute(tmp_path / "in.zarr", tmp_path / "moved.zarr", order=order, rewrite=True)
    assert done.plan is not None
    np.testing.assert_array_equal(opened(tmp_path / "moved.zarr")[...], x.transpose(order))


# ---- HDF5 and NumPy's files ----

def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    x = counted()
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("group/t", data=x, chunks=(7, 11, 13), compression="gzip", shuffle=True)
        file["plain"] = x
    redistribute(f"{tmp_path}/in.h5::group/t", tmp_path / "out.h5", order=(2, 0, 1), chunks=(9, 8, 10),
                 max_memory="45kB", verify=True)
    with h5py.File(tmp_path / "out.h5") as file:
        made = file["group/t"]
        assert made.chunks == (9, 8, 10) and made.compression == "gzip" and made.shuffle
        np.testing.assert_array_equal(made[...], x.transpose(2, 0, 1))
    redistribute(f"{tmp_path}/in.h5::plain", tmp_path / "out.zarr", order=(1, 0, 2), chunks=(9, 8, 10),
                 max_memory="45kB", verify=True)
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], x.transpose(1, 0, 2))
    redistribute(tmp_path / "out.zarr", f"{tmp_path}/last.h5::x", order=(1, 0, 2), compression="lzf")
    with h5py.File(tmp_path / "last.h5") as file:
        np.testing.assert_array_equal(file["x"][...], x)
        with pytest.raises(relayout.UnsupportedError, match="one process alone"):
            from relayout.redistribute._run import check_distributed
            check_distributed(prepare(file["x"], tmp_path / "no.h5", chunks=(2, 2, 2)), "relayout.dask")
    assert sorted(os.listdir(tmp_path)) == ["in.h5", "last.h5", "out.h5", "out.zarr"]
    with pytest.raises(relayout.FileError, match="no dataset 'nothing'"):
        redistribute(f"{tmp_path}/in.h5::nothing", tmp_path / "no.zarr")


@pytest.mark.parametrize("fortran", [False, True])
def test_numpys_files(tmp_path, fortran):
    x = counted()
    np.save(tmp_path / "in.npy", np.asfortranarray(x) if fortran else x)
    redistribute(tmp_path / "in.npy", tmp_path / "out.zarr", order=(2, 0, 1), chunks=(9, 8, 10), max_memory="45kB",
                 verify=True)
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], x.transpose(2, 0, 1))
    redistribute(tmp_path / "out.zarr", tmp_path / "out.npy", order=(1, 2, 0), max_memory="45kB", verify=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), x)


# ---- Object stores ----

def test_url(tmp_path):
    """An object store of fsspec's, whose chunks have no files here: "memory://" stands for any."""
    pytest.importorskip("fsspec")
    x = counted()
    stored("memory://relayout-test/in.zarr", x, (7, 11, 13))
    done = redistribute("memory://relayout-test/in.zarr", "memory://relayout-test/out.zarr", order=(2, 0, 1),
                        chunks=(9, 40, 10), max_memory="60kB", scratch=tmp_path / "scratch", verify=True)
    assert done.tasks > 1
    np.testing.assert_array_equal(opened("memory://relayout-test/out.zarr")[...], x.transpose(2, 0, 1))
    done = redistribute("memory://relayout-test/in.zarr", "memory://relayout-test/linked.zarr", order=(2, 0, 1))
    assert done.plan is None and "copied" in done.explain()
    np.testing.assert_array_equal(opened("memory://relayout-test/linked.zarr")[...], x.transpose(2, 0, 1))


# ---- Arguments ----

def test_wrong_arguments(tmp_path):
    stored(tmp_path / "in.zarr", counted(), (10, 10, 10))
    for how, what in ((dict(order=(0, 1)), "order"), (dict(order=(0, 0, 1)), "order"), (dict(chunks=(1, 2)), "chunks"),
                      (dict(chunks=(0, 1, 1)), "chunks"), (dict(max_memory="much"), "max_memory"),
                      (dict(missing="no"), "missing")):
        with pytest.raises(relayout.InvalidArgumentError) as error:
            redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", **how)
        assert error.value.field == what
    with pytest.raises(relayout.LimitError):
        redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", chunks=(30, 40, 50), max_memory="1kB")
    with pytest.raises(relayout.FileError, match="no array"):
        redistribute(tmp_path / "nothing.zarr", tmp_path / "out.zarr")
    assert [bytes_of(s) for s in ("512MB", "1k", "1.5MiB", 7)] == [512_000_000, 1024, 1_572_864, 7]
    assert os.listdir(tmp_path) == ["in.zarr"]


def test_command(tmp_path, monkeypatch, capsys):
    from relayout.redistribute.__main__ import main
    x = counted()
    stored(tmp_path / "in.zarr", x, (7, 11, 13))
    monkeypatch.chdir(tmp_path)
    how = ["in.zarr", "out.zarr", "--order", "2,0,1", "--chunks", "9,8,10", "--max-memory", "45kB"]
    assert main([*how, "--dry-run"]) == 0
    assert "30x40x50 in 1 pass" in capsys.readouterr().out and os.listdir() == ["in.zarr"]
    assert main([*how, "--workers", "9"]) == 2  # each has a ninth of the memory
    assert "bytes of memory" in capsys.readouterr().err
    assert main([*how, "--verify"]) == 0
    assert "verified: every element is the source's" in capsys.readouterr().out
    np.testing.assert_array_equal(opened("out.zarr")[...], x.transpose(2, 0, 1))
    assert main(how) == 4
    assert "there is something already" in capsys.readouterr().err
    assert main(["in.zarr", "turned.zarr", "--order", "1,0,2"]) == 0
    assert "no data moves" in capsys.readouterr().out
