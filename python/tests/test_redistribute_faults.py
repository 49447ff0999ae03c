"""relayout.redistribute where something goes wrong: runs that are killed, harmed chunks, and disks that are full."""
import os
import signal

import numpy as np
import pytest
import relayout
from array_stores import SHAPE, counted, is_no_array, opened, run_python, stored
from relayout.redistribute import redistribute


# ---- Runs that end early ----

KILLED = """
import os, signal, sys
from relayout.redistribute import redistribute
calls = 0
def progress(done, total):
    global calls
    calls += 1
    if calls == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
redistribute(sys.argv[1], sys.argv[2], order=(2, 1, 0), chunks=CHUNKS, max_memory="100kB", progress=progress)
"""


@pytest.mark.parametrize("out, after", [("out.zarr", 1), ("out.zarr", 9), ("out.h5", 5), ("out.npy", 3)])
def test_goes_on_where_it_was_killed(tmp_path, out, after):
    if out == "out.h5":
        pytest.importorskip("h5py")
    chunks = None if out == "out.npy" else (4, 4, 32)
    x = counted((32, 32, 32), "i8")
    stored(tmp_path / "in.zarr", x, (1, 32, 32))
    ended = run_python(KILLED.replace("CHUNKS", str(chunks)), "in.zarr", out, after, folder=tmp_path)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    if out == "out.zarr":
        assert is_no_array(tmp_path / out)
    else:
        assert not os.path.exists(tmp_path / out)
    how = dict(order=(2, 1, 0), chunks=chunks, verify=True)
    with pytest.raises(relayout.InvalidArgumentError, match="another bound of memory"):
        redistribute(tmp_path / "in.zarr", tmp_path / out, max_memory="200kB", **how)
    done = redistribute(tmp_path / "in.zarr", tmp_path / out, max_memory="100kB", **how)
    assert done.tasks > after
    assert done.done_before == (after if out != "out.h5" else min(after, done.tasks - len(done.plan.passes[-1])))
    made = {"out.zarr": lambda p: opened(p)[...], "out.npy": np.load, "out.h5": read_hdf5}[out](tmp_path / out)
    np.testing.assert_array_equal(made, x.transpose(2, 1, 0))
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", out]


def read_hdf5(path):
    import h5py
    with h5py.File(path) as file:
        return file["data"][...]


def test_progress_and_restart(tmp_path):
    x = counted()
    stored(tmp_path / "in.zarr", x, (7, 11, 13))
    heard = []

    def progress(done, total):
        heard.append((done, total))
        return len(heard) < 4

    how = dict(order=(2, 0, 1), chunks=(9, 8, 10), max_memory="45kB")
    with pytest.raises(relayout.StoppedError):
        redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", progress=progress, **how)
    assert heard == sorted(heard) and {total for _, total in heard} == {x.nbytes}
    assert redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", restart=True, **how).done_before == 0
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], x.transpose(2, 0, 1))
    with pytest.raises(FileExistsError):
        redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", **how)


def test_one_at_a_time(tmp_path):
    stored(tmp_path / "in.zarr", counted(), (7, 11, 13))

    def progress(done, total):
        redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", chunks=(9, 8, 10))

    with pytest.raises(relayout.FileError, match="another process"):
        redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", chunks=(9, 8, 10), progress=progress)


# ---- Stores that are not as they should be ----

@pytest.mark.parametrize("compressors", [None, "auto"])
@pytest.mark.parametrize("harm", ["missing", "short", "long", "corrupt"])
def test_harmed_chunks_are_named(tmp_path, harm, compressors):
    x = counted() + 1
    stored(tmp_path / "in.zarr", x, (10, 10, 10), compressors=compressors)
    path = tmp_path / "in.zarr/c/1/2/3"
    whole = path.read_bytes()
    if harm == "missing":
        path.unlink()
    elif harm == "corrupt":
        if compressors is None:
            pytest.skip("plain bytes have no wrong values")
        path.write_bytes(bytes(len(whole)))
    else:
        path.write_bytes(whole[:-5] if harm == "short" else whole + whole)
    os.utime(path.parent, (1, 1))
    if harm != "missing":
        os.utime(path, (1, 1))
    if harm == "long" and compressors is not None:
        pytest.skip("zstd reads the frames of a file one after the other, and zarr the first")
    with pytest.raises(relayout.CorruptError, match=r"chunk 'c/1/2/3'") as error:
        redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 0, 1), chunks=(9, 8, 10),
                     max_memory="45kB")
    assert error.value.value == "chunk 'c/1/2/3'"
    assert is_no_array(tmp_path / "out.zarr")
    if harm == "missing":
        redistribute(tmp_path / "in.zarr", tmp_path / "filled.zarr", order=(2, 0, 1), chunks=(9, 8, 10),
                     missing="fill")
        x[10:20, 20:30, 30:40] = 0
        np.testing.assert_array_equal(opened(tmp_path / "filled.zarr")[...], x.transpose(2, 0, 1))
        with pytest.raises(relayout.CorruptError, match="chunk 'c/1/2/3'"):  # where encoded chunks are linked
            redistribute(tmp_path / "in.zarr", tmp_path / "linked.zarr", order=(2, 0, 1))
    path.write_bytes(whole)
    os.utime(path, (1, 1))
    # What was done before the error stays done.
    assert redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 0, 1), chunks=(9, 8, 10),
                        max_memory="45kB").done_before > 0


def test_harmed_chunks_of_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        made = file.create_dataset("t", shape=SHAPE, dtype="i4", chunks=(10, 10, 10), fletcher32=True)
        made[...] = counted()
        at = made.id.get_chunk_info_by_coord((10, 20, 30)).byte_offset
        gap = file.create_dataset("gap", shape=(20, 20), dtype="i4", chunks=(10, 10))
        gap[:10] = 1
    with open(tmp_path / "in.h5", "r+b") as file:
        file.seek(at)
        file.write(b"wrong")
    with pytest.raises(relayout.Error, match=r"chunk \(1, 2, 3\)"):
        redistribute(f"{tmp_path}/in.h5::t", tmp_path / "out.zarr", chunks=(9, 8, 10))
    with pytest.raises(relayout.CorruptError, match=r"chunk \(1, 0\)"):
        redistribute(f"{tmp_path}/in.h5::gap", tmp_path / "gap.zarr", chunks=(9, 8))
    assert is_no_array(tmp_path / "out.zarr") and is_no_array(tmp_path / "gap.zarr")


def test_source_that_is_written_meanwhile(tmp_path):
    array = stored(tmp_path / "in.zarr", counted(), (10, 10, 10))
    seen = []

    def progress(done, total):
        if not seen:
            array[20:30, 30:40, 40:50] = 7
        seen.append(done)

    with pytest.raises(relayout.CorruptError, match="chunk 'c/2/3/4'.*written after"):
        redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 0, 1), chunks=(9, 8, 10),
                     max_memory="45kB", progress=progress)
    assert is_no_array(tmp_path / "out.zarr")


def test_output_that_is_made_meanwhile(tmp_path):
    stored(tmp_path / "in.zarr", counted(), (10, 10, 10))

    def progress(done, total):
        if done == total:
            stored(tmp_path / "other.zarr", counted(), (10, 10, 10))
            os.rename(tmp_path / "other.zarr/zarr.json", tmp_path / "out.zarr/zarr.json")

    with pytest.raises(FileExistsError):
        redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", chunks=(9, 8, 10), progress=progress)
    assert opened(tmp_path / "out.zarr").chunks == (10, 10, 10)


def test_verify_finds_what_was_changed(tmp_path):
    x = counted()
    stored(tmp_path / "in.zarr", x, (10, 10, 10))

    def progress(done, total):
        path = tmp_path / "out.zarr/c/1/1/1"
        if path.exists() and done == total // 2:
            path.write_bytes(bytes(4) + path.read_bytes()[4:])

    with pytest.raises(relayout.CorruptError, match=r"verify: element \(9, 8, 10\) in chunk \(1, 1, 1\)"):
        redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 0, 1), chunks=(9, 8, 10), verify=True,
                     compression=None, progress=progress)
    assert is_no_array(tmp_path / "out.zarr")


FULL = """
import resource, sys
from relayout.redistribute import redistribute
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
chunks = None if sys.argv[1].endswith("npy") else (10, 10, 10)
redistribute("in.zarr", sys.argv[1], chunks=chunks, compression=None)
"""


@pytest.mark.parametrize("out", ["out.zarr", "out.npy", "out.h5"])
def test_disk_that_takes_no_more(tmp_path, out):
    """A bound of the system's for files stands for a disk that is full."""
    if out == "out.h5":
        pytest.importorskip("h5py")
    stored(tmp_path / "in.zarr", counted(), (5, 10, 25))
    ended = run_python(FULL, out, folder=tmp_path)
    assert ended.returncode == 1 and "relayout._errors.FileError" in ended.stderr, ended.stderr
    named = {"out.zarr": "write chunk 'c/0/0/0' of", "out.npy": "make room for the file",
             "out.h5": "write chunk (0, 0, 0) of"}[out]
    assert named in ended.stderr
    assert is_no_array(tmp_path / out)
