"""relayout.redistribute of stores that are harmed, or that somebody else writes meanwhile: each way of each kind of
store is an error that names the chunk, and leaves nothing that looks whole."""
import os
import subprocess
import sys

import numpy as np
import pytest
import relayout
from array_stores import SHAPE, counted, is_no_array, opened, stored
from relayout.redistribute import redistribute

HOW = dict(order=(2, 0, 1), chunks=(9, 8, 10), max_memory="200kB")


def aged(path):
    """As if it was written long ago."""
    for folder, _, files in os.walk(path):
        for file in files:
            os.utime(os.path.join(folder, file), (1, 1))
    if os.path.isfile(path):
        os.utime(path, (1, 1))


def refused(src, out, match, error=relayout.CorruptError, **how):
    with pytest.raises(error, match=match):
        redistribute(src, out, **{**HOW, **how})
    assert is_no_array(out)


@pytest.mark.parametrize("harm", ["short", "index", "missing", "data"])
def test_shards(tmp_path, harm):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(tmp_path / "in.zarr", shape=SHAPE, dtype="i4", chunks=(5, 5, 5), shards=(10, 20, 25))
    array[...] = counted() + 1
    path = tmp_path / "in.zarr/c/1/1/1"
    whole = bytearray(path.read_bytes())
    if harm == "missing":
        path.unlink()
    elif harm == "short":
        path.write_bytes(whole[:-100])
    elif harm == "index":
        path.write_bytes(whole[:-20] + b"\xff" * 20)
    else:
        path.write_bytes(whole[:100] + bytes(300) + whole[400:])
    aged(tmp_path / "in.zarr")
    refused(tmp_path / "in.zarr", tmp_path / "out.zarr", r"chunk 'c/1/1/1'", shards=(18, 16, 20))


# ---- Where encoded chunks are linked as they are ----

LINKED = dict(order=(2, 0, 1), chunks=None, verify=False)


@pytest.mark.parametrize("harm", ["short", "long"])
def test_linked_chunks_of_a_wrong_length(tmp_path, harm):
    x = counted()
    stored(tmp_path / "in.zarr", x, (10, 10, 10), compressors=None)
    path = tmp_path / "in.zarr/c/1/2/3"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5] if harm == "short" else whole + b"more")
    aged(tmp_path / "in.zarr")
    refused(tmp_path / "in.zarr", tmp_path / "out.zarr", r"chunk 'c/1/2/3'.* bytes, and a chunk has 4000", **LINKED)
    path.unlink()  # another file takes its place, and the same call goes on with that one
    path.write_bytes(whole)
    aged(tmp_path / "in.zarr")
    done = redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(2, 0, 1))
    assert done.plan is None
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], x.transpose(2, 0, 1))


def test_linked_chunks_are_verified(tmp_path):
    x = counted()
    stored(tmp_path / "in.zarr", x, (10, 10, 10))
    path = tmp_path / "in.zarr/c/1/2/3"
    path.write_bytes(bytes(len(path.read_bytes())))
    aged(tmp_path / "in.zarr")
    refused(tmp_path / "in.zarr", tmp_path / "out.zarr", r"chunk 'c/1/2/3'", **{**LINKED, "verify": True})
    stored(tmp_path / "good.zarr", x, (10, 10, 10))
    assert redistribute(tmp_path / "good.zarr", tmp_path / "verified.zarr", order=(2, 0, 1), verify=True).linked > 0


def test_linked_chunks_that_are_written_meanwhile(tmp_path):
    array = stored(tmp_path / "in.zarr", counted(), (10, 10, 10))
    aged(tmp_path / "in.zarr")

    def progress(done, total):
        if done == 3:
            array[20:30, 30:40, 40:50] = 7

    refused(tmp_path / "in.zarr", tmp_path / "out.zarr", "chunk 'c/2/3/4'.*written after", progress=progress, **LINKED)


def test_an_intermediate_store_that_is_harmed(tmp_path):
    stored(tmp_path / "in.zarr", counted(), (1, 40, 50))
    harmed = []

    def progress(done, total):
        if done >= total // 2 and not harmed:
            harmed.append(next((tmp_path / "out.zarr.relayout").glob("intermediate-*/c/*/*/*")))
            harmed[0].unlink()

    refused(tmp_path / "in.zarr", tmp_path / "out.zarr", "chunk 'c/.*an intermediate store of this run: it was removed",
            order=(2, 1, 0), chunks=(10, 8, 30), max_memory="60kB", progress=progress)
    assert harmed


# ---- HDF5 ----

def hdf5(path, **options):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("t", data=counted(), **options)
    return h5py


def test_chunks_of_hdf5_of_a_wrong_length(tmp_path):
    """Where a filter reads them; of plain ones HDF5 keeps no length."""
    h5py = hdf5(tmp_path / "in.h5", chunks=(10, 10, 10), compression="gzip")
    with h5py.File(tmp_path / "in.h5", "r+") as file:
        file["t"].id.write_direct_chunk((10, 10, 10), b"short")
    aged(tmp_path / "in.h5")
    refused(f"{tmp_path}/in.h5::t", tmp_path / "out.zarr", r"chunk \(1, 1, 1\)")


def test_a_file_of_hdf5_that_is_cut_or_written(tmp_path):
    h5py = hdf5(tmp_path / "in.h5", chunks=(10, 10, 10))
    os.truncate(tmp_path / "in.h5", os.path.getsize(tmp_path / "in.h5") - 1000)
    refused(f"{tmp_path}/in.h5::t", tmp_path / "out.zarr", "in.h5.*truncated file", relayout.FileError)
    hdf5(tmp_path / "in.h5")
    aged(tmp_path / "in.h5")

    def progress(done, total):
        with h5py.File(tmp_path / "in.h5", "r+") as file:
            file["t"][0, 0, 0] = 5

    refused(f"{tmp_path}/in.h5::t", tmp_path / "out.zarr", "in.h5.*written after", progress=progress,
            max_memory="45kB")


# ---- NumPy's files ----

def test_files_of_numpy(tmp_path):
    path, out = tmp_path / "in.npy", tmp_path / "out.npy"
    how = dict(order=(2, 0, 1), max_memory="100kB")

    def refuse(match, error=relayout.CorruptError, **more):
        with pytest.raises(error, match=match):
            redistribute(path, out, **how, **more)
        assert not out.exists()

    path.write_bytes(b"nonsense")
    refuse("does not begin as a file of NumPy", relayout.FileError)
    np.save(path, counted())
    os.truncate(path, 1000)
    refuse("in.npy", relayout.FileError)
    for change in (lambda: os.truncate(path, 5000), lambda: path.write_bytes(path.read_bytes())):
        np.save(path, counted())
        aged(path)
        refuse("in.npy", progress=lambda done, total: change(), restart=True)


def test_exit_codes_of_the_command(tmp_path, monkeypatch, capsys):
    from relayout.redistribute.__main__ import main
    stored(tmp_path / "in.zarr", counted(), (10, 10, 10))
    (tmp_path / "in.zarr/c/1/2/3").unlink()
    monkeypatch.chdir(tmp_path)
    assert main(["in.zarr", "out.zarr", "--chunks", "9,8,10"], "relayout") == 3
    assert capsys.readouterr().err.startswith("relayout: read chunk 'c/1/2/3'")
    assert main(["in.zarr", "out.zarr", "--chunks", "9,8"], "relayout") == 2
    assert main(["none.zarr", "out.zarr"], "relayout") == 4
    assert main(["in.zarr", "out.zarr", "--chunks", "9,8,10", "--json"], "relayout") == 3
    assert '"code": "corrupt"' in capsys.readouterr().err and is_no_array(tmp_path / "out.zarr")


def test_shards_that_cannot_be(tmp_path):
    zarr = pytest.importorskip("zarr")
    for version in (2, 3):
        zarr.create_array(tmp_path / f"{version}.zarr", shape=SHAPE, dtype="i4", chunks=(5, 5, 5),
                          zarr_format=version)[...] = counted()
    refused(tmp_path / "3.zarr", tmp_path / "out.zarr", "whole chunks", relayout.InvalidArgumentError,
            shards=(20, 8, 10))
    refused(tmp_path / "2.zarr", tmp_path / "out.zarr", "format 2", relayout.UnsupportedError, shards=(18, 8, 10))


def test_output_that_nobody_reads(tmp_path):
    stored(tmp_path / "in.zarr", counted(), (9, 8, 10))
    command = [sys.executable, "-m", "relayout.redistribute", str(tmp_path / "in.zarr"), str(tmp_path / "x.zarr"),
               "--dry-run"]
    for where, code, words in (("| true; exit ${PIPESTATUS[0]}", 141, ""), ("> /dev/full", 4, "No space left")):
        ended = subprocess.run(["bash", "-c", " ".join(command) + " " + where], stderr=subprocess.PIPE, text=True)
        assert ended.returncode == code, ended.stderr
        assert words in ended.stderr and "Traceback" not in ended.stderr


def test_a_journal_that_cannot_be_written(tmp_path):
    stored(tmp_path / "in.zarr", counted(), (10, 10, 10))
    (tmp_path / "out.zarr.relayout").write_text("a file where the folder should be")
    with pytest.raises(relayout.FileError, match="out.zarr.relayout/journal"):
        redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", **HOW)
