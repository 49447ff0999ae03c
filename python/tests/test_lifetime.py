"""Nothing is kept that nobody needs: counts of references, memory, and what nanobind says at the end.

Each kind of call is made many times, errors included. Counts and memory must be the same before and after.
"""
import gc
import os
import subprocess
import sys
import textwrap
import tracemalloc
import weakref

import numpy as np
import pytest
import relayout

CALLS = 100_000
#: With it nanobind prints what of this package lives when Python has ended.
WARNED = dict(os.environ, RELAYOUT_LEAK_WARNINGS="1")

SOURCE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
TURNED = SOURCE.transpose(2, 0, 1)
OUT = np.zeros((4, 2, 3), np.float32)
OTHER = np.zeros((4, 2, 3), np.float64)
READ_ONLY = np.broadcast_to(np.float32(0), (4, 2, 3))
OBJECTS = np.zeros(3, object)
LAYOUT = relayout.layout("nChw16c", (2, 17, 5, 4))
PLAN = relayout.plan_conversion(SOURCE, "abc", "cab")
BUFFER = relayout.Buffer.from_dlpack(SOURCE)


class Rubbish:
    def __dlpack__(self, **ignored):
        raise RuntimeError("no")


RUBBISH = Rubbish()


def refused(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except Exception:  # which one is the business of test_errors.py
        return
    raise AssertionError("it was not refused")


#: A call, and how many of it are made: those that are slower less often.
KINDS = {
    "contiguous": (lambda: relayout.contiguous(TURNED), CALLS),
    "contiguous of contiguous": (lambda: relayout.contiguous(SOURCE), CALLS),
    "contiguous F": (lambda: relayout.contiguous(SOURCE, "F"), CALLS // 2),
    "contiguous of a tag": (lambda: relayout.contiguous(SOURCE, "bca"), CALLS // 10),
    "copy": (lambda: relayout.copy(OUT, TURNED), CALLS),
    "copy and convert": (lambda: relayout.copy(OTHER, TURNED), CALLS // 10),
    "transpose": (lambda: relayout.transpose(SOURCE), CALLS // 5),
    "convert": (lambda: relayout.convert(SOURCE, "abc", "Abc4a"), CALLS // 4),
    "convert with a scale": (lambda: relayout.convert(SOURCE, "abc", "cab", dtype="u8", scale=0.5), CALLS // 5),
    "a plan": (lambda: PLAN.run(SOURCE, OUT), CALLS),
    "reorder_in_place": (lambda: relayout.reorder_in_place(OUT, "abc", "abc"), CALLS // 10),
    "Buffer from NumPy": (lambda: relayout.Buffer.from_dlpack(SOURCE), CALLS),
    "Buffer to NumPy": (lambda: np.asarray(BUFFER), CALLS),
    "a capsule that nobody takes": (lambda: BUFFER.__dlpack__(max_version=(1, 0)), CALLS),
    "a capsule through NumPy": (lambda: np.from_dlpack(BUFFER), CALLS),
    "a copied capsule": (lambda: BUFFER.__dlpack__(copy=True), CALLS // 2),
    "a new Buffer": (lambda: relayout.Buffer.allocate(LAYOUT, "f32"), CALLS // 2),
    "empty": (lambda: relayout.empty((2, 3), "f32"), CALLS // 5),
    "layout": (lambda: relayout.layout("nChw16c", (2, 17, 5, 4)), CALLS // 2),
    "digits and views": (lambda: (LAYOUT.digits, LAYOUT.dims, LAYOUT[0, ::2], LAYOUT.permute(3, 2, 1, 0)), CALLS // 10),
    "text": (lambda: (repr(LAYOUT), hash(LAYOUT), LAYOUT.as_("tvm")), CALLS // 20),
    "an error: no array": (lambda: refused(relayout.contiguous, 3), CALLS // 10),
    "an error: objects": (lambda: refused(relayout.contiguous, OBJECTS), CALLS // 5),
    "an error: read-only": (lambda: refused(relayout.copy, READ_ONLY, TURNED), CALLS // 5),
    "an error: copy=False": (lambda: refused(relayout.contiguous, TURNED, copy=False), CALLS // 5),
    "an error: shapes": (lambda: refused(relayout.copy, OUT, SOURCE), CALLS // 10),
    "an error: __dlpack__ raises": (lambda: refused(relayout.contiguous, RUBBISH), CALLS // 10),
    "an error: text": (lambda: refused(relayout.layout, "nChw8q", (2, 3, 4, 5)), CALLS // 10),
    "an error: layouts": (lambda: refused(relayout.convert, SOURCE, "ab", "ba"), CALLS // 20),
    "an error: a plan's array": (lambda: refused(PLAN.run, OTHER, OUT), CALLS // 5),
    "an error: a view": (lambda: refused(LAYOUT.view, 7), CALLS // 10),
}

COUNTED = [SOURCE, TURNED, OUT, OTHER, READ_ONLY, OBJECTS, LAYOUT, PLAN, BUFFER, RUBBISH, SOURCE.dtype, OTHER.dtype,
           np.ndarray, relayout.Layout, relayout.Buffer, relayout.Error, relayout.ParseError, relayout.NeedsCopyError]


def counts():
    gc.collect()
    return [sys.getrefcount(thing) for thing in COUNTED]


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("kind", KINDS)
def test_counts_of_references(kind):
    call, times = KINDS[kind]
    for _ in range(100):  # what is kept once, such as a plan, is there then
        call()
    before, memory = counts(), resident_bytes()
    for _ in range(times):
        call()
    after = counts()
    # None and small integers aside, a count that goes up with each call is `times` higher.
    assert all(abs(b - a) < 10 for a, b in zip(before, after)), list(zip(COUNTED, before, after))
    assert resident_bytes() - memory < (8 << 20), kind


@pytest.mark.parametrize("kind", KINDS)
def test_python_memory_does_not_grow(kind):
    call, _ = KINDS[kind]
    for _ in range(300):
        call()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(50):
            call()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            call()
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 20_000, kind  # 10 bytes a call


def test_different_calls_do_not_grow_without_end():
    """Plans of many shapes are dropped in the end."""
    for n in range(1, 3000):
        relayout.convert(np.zeros((n, 2), np.float32), "ab", "ba")
    gc.collect()
    memory = resident_bytes()
    for n in range(3000, 12000):
        relayout.convert(np.zeros((n % 1500 + 1, n // 1500 + 2), np.float32), "ab", "ba")
        relayout.contiguous(np.zeros((n % 1500 + 1, n // 1500 + 2), np.float32).T)
    gc.collect()
    assert resident_bytes() - memory < (40 << 20)


def test_a_buffer_keeps_its_owner_and_no_longer():
    class Owner(np.ndarray):
        pass

    owner = np.arange(6.0).view(Owner)
    gone = weakref.ref(owner)
    buffer = relayout.Buffer.from_dlpack(owner)
    array = np.asarray(buffer)
    capsule = buffer.__dlpack__()
    del owner
    gc.collect()
    assert array[3] == 3 and gone() is not None
    del buffer
    gc.collect()
    assert array[4] == 4 and gone() is not None
    del array
    gc.collect()
    assert gone() is not None
    del capsule
    gc.collect()
    assert gone() is None


def test_arrays_of_a_file_keep_it(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(1000.0))
    array = relayout.load(tmp_path / "x.npy")
    gc.collect()
    assert array.sum() == np.arange(1000.0).sum()
    assert any("x.npy" in line for line in open("/proc/self/maps"))
    del array
    gc.collect()
    assert not any("x.npy" in line for line in open("/proc/self/maps"))


def test_the_source_may_die_at_once():
    result = relayout.contiguous(np.arange(600.0).reshape(20, 30).T)
    assert result[3, 2] == 2 * 30 + 3
    view = np.asarray(relayout.Buffer.from_dlpack(np.arange(6.0)))
    gc.collect()
    assert view.tolist() == [0, 1, 2, 3, 4, 5]


AT_EXIT = """
    import gc
    import numpy as np, relayout
    layout = relayout.layout("nChw16c", (2, 17, 5, 4))
    kept = [layout[0], layout.permute(3, 2, 1, 0), relayout.Buffer.allocate(layout, "f32")]
    x = np.arange(24.0, dtype="f4").reshape(2, 3, 4)
    relayout.convert(x, "abc", "Abc4a")
    relayout.convert(x, relayout.layout("abc", x.shape), relayout.layout("cab", x.shape))
    relayout.transpose(x)
    buffer = relayout.Buffer.from_dlpack(x)
    array, capsule = np.asarray(buffer), buffer.__dlpack__()
    for wrong in (lambda: relayout.contiguous(3), lambda: relayout.layout("?"), lambda: layout.view(7)):
        try:
            wrong()
        except Exception as error:
            last = error
    {more}
"""


@pytest.mark.parametrize("more", [
    "", "import threading; [thread.start() for thread in [threading.Thread(target=relayout.transpose, args=(x,))] * 1]",
    "cycle = [buffer]; cycle.append(cycle); class_ = type('C', (), {'held': [kept, layout]})", "raise SystemExit(0)",
    "import atexit; atexit.register(lambda: relayout.transpose(x))"])
def test_nanobind_reports_no_leaks(more):
    code = textwrap.dedent(AT_EXIT).replace("{more}", more)
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, env=WARNED)
    assert done.returncode == 0 and "leak" not in done.stderr, done.stderr


HELD = """
    import ctypes, relayout
    layout = relayout.layout("nhwc", (1, 2, 3, 4))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(layout))  # as what Python itself does not free at its end
"""


def test_what_a_program_holds_at_its_end_is_no_leak():
    """It ends without a word; with the variable that the tests here set, nanobind names what lives."""
    for environment, says in ((None, False), (WARNED, True)):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(HELD)], capture_output=True, text=True,
                              env=environment)
        assert done.returncode == 0 and ("_native.Layout" in done.stderr) == says, done.stderr
        assert says or not done.stderr, done.stderr


LOADER = """
import relayout, torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self):
        self.layout = relayout.layout("nhwc", (1, 2, 3, 4))
    def __len__(self):
        return 4
    def __getitem__(self, i):
        global held
        held = self.layout
        return self.layout.offset(0, 0, 0, i)

if __name__ == "__main__":
    for context in ("fork", "spawn"):
        loader = DataLoader(Rows(), num_workers=1, multiprocessing_context=context)
        print([int(offset) for offset in loader])
"""


def test_workers_of_torch_print_nothing(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "loader.py").write_text(LOADER)
    done = subprocess.run([sys.executable, "-W", "ignore", tmp_path / "loader.py"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "[0, 2, 4, 6]\n" * 2, done
    assert "nanobind" not in done.stderr, done.stderr


TORCH = """
    import gc, sys
    import torch, relayout
    x = torch.arange(24.0).reshape(2, 3, 4)
    turned, out = x.permute(2, 0, 1), torch.zeros(4, 2, 3)
    counted = [x, turned, out, x.dtype, torch.Tensor]
    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * 4096
    def calls(n):
        for _ in range(n):
            relayout.contiguous(turned); relayout.contiguous(x); relayout.copy(out, turned); relayout.transpose(x)
            relayout.convert(x, "abc", "Abc4a"); relayout.Buffer.from_dlpack(x)
            for wrong in (lambda: relayout.contiguous(turned, copy=False), lambda: relayout.copy(x, turned)):
                try:
                    wrong()
                except ValueError:
                    pass
    calls(500)
    gc.collect()
    before, memory = [sys.getrefcount(thing) for thing in counted], resident()
    calls(4000)
    gc.collect()
    after = [sys.getrefcount(thing) for thing in counted]
    assert all(abs(a - b) < 10 for a, b in zip(before, after)), (before, after)
    assert resident() - memory < 8 << 20, resident() - memory
"""


def test_torch():
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(TORCH)], capture_output=True, text=True, env=WARNED)
    assert done.returncode == 0 and "leak" not in done.stderr, done.stderr


def test_threads_that_end_leave_nothing():
    """What a thread keeps for itself goes with it, apart from types, which live as long as the process."""
    import threading
    def work():
        relayout.contiguous(TURNED)
        relayout.Buffer.from_dlpack(SOURCE)
    for _ in range(50):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    before = counts()
    for _ in range(300):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert all(abs(b - a) < 10 for a, b in zip(before, counts()))
