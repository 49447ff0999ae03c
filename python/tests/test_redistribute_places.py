"""relayout.redistribute and what it may not touch: folders of others, other runs' intermediate stores, and sources that
somebody replaces."""
import errno
import os
import shutil

import numpy as np
import pytest
import relayout
from array_stores import counted, is_no_array, opened, run_python, stored
from relayout.redistribute import _run, redistribute

HOW = dict(order=(2, 1, 0), chunks=(10, 8, 30), max_memory="60kB")


def ended_at(share):
    """Ends a run when so much of it is done."""
    return lambda done, total: done < share * total


def ended(src, out, share=0.5, **how):
    with pytest.raises(relayout.StoppedError):
        redistribute(src, out, progress=ended_at(share), **{**HOW, **how})


def tree(folder):
    return {os.path.join(at, name): open(os.path.join(at, name), "rb").read()
            for at, _, names in os.walk(folder) for name in names}


# ---- Destinations that are not the run's own ----

@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("chunks", [(10, 8, 30), None])
def test_a_folder_of_somebody_else(tmp_path, restart, times, chunks):
    """Neither the first call nor the one after it, which finds what the first one left, may take it."""
    stored(tmp_path / "in.zarr", counted(), (1, 40, 50))
    (tmp_path / "prec").mkdir()
    (tmp_path / "prec/thesis.txt").write_text("years of work")
    (tmp_path / "prec.relayout").mkdir()
    (tmp_path / "prec.relayout/notes.txt").write_text("more of it")
    before = tree(tmp_path)
    for _ in range(times):
        with pytest.raises(FileExistsError):
            redistribute(tmp_path / "in.zarr", tmp_path / "prec", **{**HOW, "chunks": chunks}, restart=restart)
    with pytest.raises(FileExistsError):
        redistribute(tmp_path / "in.zarr", tmp_path / "prec", **{**HOW, "chunks": chunks}, restart=True)
    assert tree(tmp_path) == before
    redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", scratch=tmp_path / "prec.relayout", **HOW)
    assert (tmp_path / "prec.relayout/notes.txt").exists()


@pytest.mark.parametrize("out", ["in.zarr", "in.zarr/", "../NAME/in.zarr", ".", "in.zarr/part", "link"])
def test_the_source_itself(tmp_path, monkeypatch, out):
    stored(tmp_path / "in.zarr", counted(), (1, 40, 50))
    os.symlink("in.zarr", tmp_path / "link")
    monkeypatch.chdir(tmp_path)
    before = tree(tmp_path)
    for restart in (True, False):
        with pytest.raises(relayout.InvalidArgumentError, match="the source"):
            redistribute("in.zarr", out.replace("NAME", tmp_path.name), restart=restart, **HOW)
    np.save("x.npy", counted())
    with pytest.raises(relayout.InvalidArgumentError, match="the source"):
        redistribute("x.npy", "./x.npy", restart=True)
    os.remove("x.npy")
    assert tree(tmp_path) == before


def test_at_a_url(tmp_path):
    pytest.importorskip("fsspec")
    x = counted()
    stored("memory://places/in.zarr", x, (1, 40, 50))
    stored("memory://places/group/other.zarr", x, (1, 40, 50))
    for out in ("memory://places/in.zarr", "memory://places", "memory://places/in.zarr/c"):
        with pytest.raises(relayout.InvalidArgumentError, match="the source"):
            redistribute("memory://places/in.zarr", out, restart=True, **HOW)
    with pytest.raises(FileExistsError):
        redistribute("memory://places/in.zarr", "memory://places/group/other.zarr", restart=True, **HOW)
    redistribute("memory://places/in.zarr", "memory://places/group", restart=True, **HOW)  # beside it, in a folder
    for name in ("in.zarr", "group/other.zarr"):
        np.testing.assert_array_equal(opened("memory://places/" + name)[...], x)
    np.testing.assert_array_equal(opened("memory://places/group")[...], x.transpose(2, 1, 0))


def test_a_journal_for_a_url(tmp_path, monkeypatch):
    """Goes on, also after another start of the system: what the store has is there. The journal knows its output."""
    pytest.importorskip("fsspec")
    x, journal = counted(), tmp_path / "journal"
    starts = iter(range(9))
    monkeypatch.setattr(_run, "boot", lambda: str(next(starts)))
    stored("memory://journals/in.zarr", x, (1, 40, 50))
    ended("memory://journals/in.zarr", "memory://journals/out.zarr", 0.8, journal=journal)
    with pytest.raises(relayout.InvalidArgumentError, match="a run that makes .*out.zarr"):
        redistribute("memory://journals/in.zarr", "memory://journals/other.zarr", journal=journal, restart=True, **HOW)
    done = redistribute("memory://journals/in.zarr", "memory://journals/out.zarr", journal=journal, **HOW)
    assert len(done.plan.passes) == 2 and done.done_before > len(done.plan.passes[0])
    np.testing.assert_array_equal(opened("memory://journals/out.zarr")[...], x.transpose(2, 1, 0))
    assert os.listdir(tmp_path) == []

    def again(done, total):
        redistribute("memory://journals/in.zarr", "memory://journals/two.zarr", journal=journal, **HOW)

    with pytest.raises(relayout.FileError, match="another process"):
        redistribute("memory://journals/in.zarr", "memory://journals/two.zarr", journal=journal, progress=again, **HOW)


def test_restart_at_a_url(tmp_path):
    """What lay there before the run began stays."""
    pytest.importorskip("fsspec")
    fs = pytest.importorskip("fsspec").filesystem("memory")
    x = counted()
    stored("memory://anew/in.zarr", x, (1, 40, 50))
    stored("memory://anew/full/other.zarr", x, (1, 40, 50))
    for out, what in (("full", ["c", "other.zarr", "zarr.json"]), ("bare", ["c", "zarr.json"])):
        how = dict(scratch=tmp_path / "scratch", journal=tmp_path / "journal")
        ended("memory://anew/in.zarr", "memory://anew/" + out, 0.9, **how)
        fs.pipe(f"/anew/{out}/c/left", b"of the run that is dropped")
        done = redistribute("memory://anew/in.zarr", "memory://anew/" + out, restart=True, **HOW, **how)
        assert done.done_before == 0 and fs.exists(f"/anew/{out}/c/left") == (out == "full")
        assert sorted(os.path.basename(path) for path in fs.ls("/anew/" + out, detail=False)) == what
        np.testing.assert_array_equal(opened("memory://anew/" + out)[...], x.transpose(2, 1, 0))
    np.testing.assert_array_equal(opened("memory://anew/full/other.zarr")[...], x)


def test_a_url_without_a_journal(tmp_path):
    pytest.importorskip("fsspec")
    x = counted()
    stored("memory://bare/in.zarr", x, (1, 40, 50))
    with pytest.raises(relayout.StoppedError, match="begins anew, as there is no journal"):
        redistribute("memory://bare/in.zarr", "memory://bare/out.zarr", progress=ended_at(0.8), **HOW)
    assert redistribute("memory://bare/in.zarr", "memory://bare/out.zarr", **HOW).done_before == 0
    np.testing.assert_array_equal(opened("memory://bare/out.zarr")[...], x.transpose(2, 1, 0))


@pytest.mark.parametrize("out", ["out.npy", "out.h5", "out.zarr"])
def test_a_journal_elsewhere(tmp_path, out):
    if out == "out.h5":
        pytest.importorskip("h5py")
    stored(tmp_path / "in.zarr", counted(), (1, 40, 50))
    how = dict(chunks=None if out == "out.npy" else (30, 4, 5), journal=tmp_path / "kept/journal", order=None)
    ended(tmp_path / "in.zarr", tmp_path / out, 0.6, **how)
    assert (tmp_path / "kept/journal/journal").exists()
    assert redistribute(tmp_path / "in.zarr", tmp_path / out, **{**HOW, **how}).done_before >= (out != "out.h5")
    assert sorted(os.listdir(tmp_path)) == sorted(["in.zarr", "kept", out]) and os.listdir(tmp_path / "kept") == []


def test_restart_drops_what_the_run_did(tmp_path):
    x = counted()
    stored(tmp_path / "in.zarr", x, (1, 40, 50))
    ended(tmp_path / "in.zarr", tmp_path / "out.zarr", 0.8, scratch=tmp_path / "scratch")
    assert os.listdir(tmp_path / "scratch") and (tmp_path / "out.zarr").exists()
    done = redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", order=(1, 0, 2), chunks=(40, 30, 50), restart=True)
    assert done.done_before == 0
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], x.transpose(1, 0, 2))
    assert sorted(os.listdir(tmp_path / "out.zarr/c")) == ["0"]  # nothing of the other chunks
    assert os.listdir(tmp_path / "scratch") == []


# ---- Two runs with one scratch ----

def test_a_scratch_for_two_runs(tmp_path):
    scratch = tmp_path / "scratch"
    (scratch / "intermediate").mkdir(parents=True)
    (scratch / "intermediate/mine.txt").write_text("a user's")
    arrays = {"1": counted(), "2": counted() + 1_000_000}
    for name, x in arrays.items():
        stored(tmp_path / f"a{name}", x, (1, 40, 50))
        ended(tmp_path / f"a{name}", tmp_path / f"o{name}", scratch=scratch)
    for name, x in arrays.items():
        done = redistribute(tmp_path / f"a{name}", tmp_path / f"o{name}", scratch=scratch, **HOW)
        assert len(done.plan.passes) == 2 and done.done_before > 0
        np.testing.assert_array_equal(opened(tmp_path / f"o{name}")[...], x.transpose(2, 1, 0))
    assert (scratch / "intermediate/mine.txt").exists() and os.listdir(scratch) == ["intermediate"]


def test_another_scratch_is_another_run(tmp_path):
    stored(tmp_path / "in.zarr", counted(), (1, 40, 50))
    ended(tmp_path / "in.zarr", tmp_path / "out.zarr")
    with pytest.raises(relayout.InvalidArgumentError, match="another scratch"):
        redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", scratch=tmp_path / "scratch", **HOW)


def test_an_output_that_was_removed_meanwhile(tmp_path):
    x = counted()
    stored(tmp_path / "in.zarr", x, (1, 40, 50))
    for out, chunks in (("out.zarr", (10, 8, 30)), ("out.npy", None)):
        ended(tmp_path / "in.zarr", tmp_path / out, 0.8, chunks=chunks)
        if out == "out.zarr":
            shutil.rmtree(tmp_path / out)
        else:
            os.unlink(tmp_path / "out.npy.relayout/array.npy")
        redistribute(tmp_path / "in.zarr", tmp_path / out, **{**HOW, "chunks": chunks})
        made = opened(tmp_path / out)[...] if out == "out.zarr" else np.load(tmp_path / out)
        np.testing.assert_array_equal(made, x.transpose(2, 1, 0))


# ---- Sources that are replaced ----

def file_of(path, x):
    if path.suffix == ".npy":
        np.save(path, x)
    else:
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            file["t"] = x
    os.utime(path, (1, 1))


@pytest.mark.parametrize("name", ["s.npy", "s.h5"])
@pytest.mark.parametrize("when", [0.1, 0.4])
def test_a_source_that_is_replaced_by_an_older_one(tmp_path, name, when):
    file_of(tmp_path / name, counted())
    file_of(tmp_path / ("t" + name), -counted())

    def progress(done, total):
        if done >= when * total and (tmp_path / ("t" + name)).exists():
            os.replace(tmp_path / ("t" + name), tmp_path / name)

    with pytest.raises(relayout.CorruptError, match="another file has its name"):
        redistribute(tmp_path / name, tmp_path / "out.npy", order=(2, 0, 1), max_memory="60kB", progress=progress)
    assert not (tmp_path / "out.npy").exists()
    with pytest.raises(relayout.InvalidArgumentError, match="another source"):
        redistribute(tmp_path / name, tmp_path / "out.npy", order=(2, 0, 1), max_memory="60kB")


def test_a_source_that_is_written_while_it_is_copied(tmp_path, monkeypatch):
    """What is read of a mapped file is in memory only when it was copied."""
    from relayout.redistribute import _tasks
    file_of(tmp_path / "s.npy", counted())
    copy = _tasks._native.copy

    def copy_late(dst, src, **how):
        with open(tmp_path / "s.npy", "r+b") as file:
            file.seek(1000)
            file.write(bytes(1000))
        return copy(dst, src, **how)

    monkeypatch.setattr(_tasks._native, "copy", copy_late)
    with pytest.raises(relayout.CorruptError, match="written after"):
        redistribute(tmp_path / "s.npy", tmp_path / "out.zarr", chunks=(30, 40, 50))
    assert is_no_array(tmp_path / "out.zarr")


# ---- Disks that are full, and power that fails ----

def test_a_full_disk_the_second_time(tmp_path, monkeypatch):
    """The first call leaves a file without its blocks; whoever writes to it through a mapping is killed by SIGBUS."""
    stored(tmp_path / "in.zarr", counted(), (10, 10, 10))
    allocate, room = os.posix_fallocate, [100_000]

    def bounded(descriptor, offset, length):
        if offset + length > room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        allocate(descriptor, offset, length)

    monkeypatch.setattr(os, "posix_fallocate", bounded)
    for _ in range(2):
        with pytest.raises(relayout.FileError, match="make room for the file.*No space left"):
            redistribute(tmp_path / "in.zarr", tmp_path / "out.npy", max_memory="60kB")
    os.truncate(tmp_path / "out.npy.relayout/array.npy", 1000)  # or one that was not even as long
    room[0] = 1_000_000
    redistribute(tmp_path / "in.zarr", tmp_path / "out.npy", max_memory="60kB")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), counted())


@pytest.mark.parametrize("name", ["out.npy", "out.h5"])
def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch, name):
    if name == "out.h5":
        pytest.importorskip("h5py")
    stored(tmp_path / "in.zarr", counted(), (10, 10, 10))
    seen, out = [], tmp_path / name

    def fsync(descriptor):
        status = os.fstat(descriptor)
        seen.append((status.st_ino, out.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    redistribute(tmp_path / "in.zarr", out, chunks=None)
    assert seen == [(out.stat().st_ino, False), (tmp_path.stat().st_ino, True)]


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_at_the_last_moment(tmp_path, monkeypatch, links):
    stored(tmp_path / "in.zarr", counted(), (10, 10, 10))
    out = tmp_path / "out.npy"
    if not links:  # then nothing can be done at that moment, and the file gets its name all the same
        monkeypatch.setattr(os, "link", lambda old, new: os.stat(tmp_path / "nothing"))
        redistribute(tmp_path / "in.zarr", out)
        np.testing.assert_array_equal(np.load(out), counted())
        return
    for name in ("link", "rename"):
        def after_somebody(old, new, call=getattr(os, name)):
            out.write_text("somebody's")
            call(old, new)
        monkeypatch.setattr(os, name, after_somebody)
    with pytest.raises(FileExistsError):
        redistribute(tmp_path / "in.zarr", out)
    assert out.read_text() == "somebody's"


KILLED = """
import os, signal
from relayout.redistribute import redistribute
link = os.link
def and_dies(old, new):
    link(old, new)
    os.kill(os.getpid(), signal.SIGKILL)
os.link = and_dies
redistribute("in.zarr", "out.npy")
"""


def test_killed_when_the_file_has_its_name(tmp_path):
    stored(tmp_path / "in.zarr", counted(), (10, 10, 10))
    assert run_python(KILLED, folder=tmp_path).returncode < 0
    redistribute(tmp_path / "in.zarr", tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), counted())
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.npy"]


def test_another_start_of_the_system(tmp_path, monkeypatch):
    """What a run had written may be lost when the system stops, whatever its journal says."""
    x = counted()
    stored(tmp_path / "in.zarr", x, (1, 40, 50))
    starts = iter("aab")
    monkeypatch.setattr(_run, "boot", lambda: next(starts))
    ended(tmp_path / "in.zarr", tmp_path / "out.zarr", 0.6)
    ended(tmp_path / "in.zarr", tmp_path / "out.zarr", 0.8)
    for path in (tmp_path / "out.zarr/c").rglob("*"):
        if path.is_file():
            path.write_bytes(b"")
    done = redistribute(tmp_path / "in.zarr", tmp_path / "out.zarr", **HOW)
    assert done.done_before == 0
    np.testing.assert_array_equal(opened(tmp_path / "out.zarr")[...], x.transpose(2, 1, 0))
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]
