"""Ctrl-C and progress= in the middle of long work.

Each call here would move hundreds of GiB: its destination is so much address space, in which the same 64 MiB of memory
lie again and again. So a signal comes before the work is done, however slow or busy the machine is.
"""
import signal
import subprocess
import sys

import numpy as np
import pytest
import relayout

PROGRAM = """
import ctypes, mmap, os, signal, threading
import numpy as np
import relayout

STEP, COUNT = 64 << 20, 4096
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
memory = os.memfd_create("memory")
os.ftruncate(memory, STEP)
NORESERVE, FIXED, ANONYMOUS = 0x4000, 0x10, 0x20
begin = libc.mmap(None, STEP * COUNT, 0, mmap.MAP_PRIVATE | NORESERVE | ANONYMOUS, -1, 0)
assert begin not in (None, ctypes.c_void_p(-1).value)
for i in range(COUNT):
    at = libc.mmap(begin + i * STEP, STEP, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | FIXED, memory, 0)
    assert at == begin + i * STEP
big = np.ctypeslib.as_array((ctypes.c_uint8 * (STEP * COUNT)).from_address(begin))
one = np.broadcast_to(np.arange(64, dtype=np.uint8), (STEP * COUNT // 64, 64))
out = big.reshape(one.shape)


def interrupt():
    while big[0] == 255:        # until the first element is written
        pass
    os.kill(os.getpid(), signal.SIGINT)


big[:STEP] = 255
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background may ignore it
threading.Thread(target=interrupt).start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    os._exit(0)
print("finished", flush=True)
os._exit(1)
"""

CALLS = {
    "copy": "relayout.copy(out, one)",
    "copy with conversion": "relayout.copy(out, one.view(np.int8))",
    "convert": "relayout.convert(one, 'ab', 'ab', out=out)",
    "convert on one thread": "relayout.convert(one, 'ab', 'ab', out=out, threads=1)",
    "convert to another layout": "relayout.convert(one, 'ab', 'ba', out=out.reshape(64, -1))",
    "convert with values": "relayout.convert(one, 'ab', 'ab', out=out, scale=2)",
    "transpose": "relayout.transpose(one, out=out.reshape(64, -1))",
    "rearrange": "relayout.rearrange('a b -> b a', one, out=out.reshape(64, -1))",
    "rearrange of a list": "relayout.rearrange('n a b -> n b a', [one], out=out.reshape(1, 64, -1))",
}


@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_ends_the_work(name):
    program = PROGRAM.replace("{call}", CALLS[name])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


class Stop(Exception):
    pass


def big():
    """40 MB of f32, and 80 MB in all, which are a few parts."""
    return np.arange(10 * 1000 * 1000, dtype=np.float32).reshape(1000, 10000)


@pytest.mark.parametrize("threads", [0, 1])
def test_progress_counts_up_to_all(threads):
    x, seen = big(), []
    y = relayout.convert(x, "ab", "ba", threads=threads, progress=lambda done, total: seen.append((done, total)))
    assert (y == x.T).all()
    assert len(seen) > 1 and seen[-1] == (80_000_000, 80_000_000)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen}) and {total for _, total in seen} == {
        80_000_000}
    seen.clear()
    relayout.convert(x[:1, :5], "ab", "ba", threads=threads, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(40, 40)]


def test_progress_of_nothing():
    for x in (np.zeros((0, 3), np.float32), np.zeros((4, 0), np.float32)[::-1], np.zeros((0, 3), ">f4")):
        for out in (None, np.zeros(x.shape[::-1], np.float32)):
            seen = []
            made = relayout.convert(x, "ab", "ba", out=out, progress=lambda done, total: seen.append((done, total)))
            assert made.shape == x.shape[::-1] and seen == [(0, 0)]

    def stop(done, total):
        raise Stop

    with pytest.raises(Stop):
        relayout.convert(x, "ab", "ba", progress=stop)


def test_progress_of_an_empty_tensor_of_pytorch():
    torch = pytest.importorskip("torch")
    seen = []
    relayout.convert(torch.zeros(0, 3), "ab", "ba", progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 0)]


def test_what_progress_raises_ends_the_work():
    x = big()
    out = np.full((10000, 1000), -1, np.float32)

    def stop(done, total):
        raise Stop(done, total)

    with pytest.raises(Stop) as stopped:
        relayout.convert(x, "ab", "ba", out=out, progress=stop)
    done, total = stopped.value.args
    assert 0 < done < total == 80_000_000
    assert 0 < (out != -1).sum() < out.size           # some new elements, and elsewhere what was there
    assert (out == x.T)[out != -1].all()
    with pytest.raises(TypeError):
        relayout.convert(x, "ab", "ba", progress=3)


def test_handlers_of_signals_run_between_the_parts():
    seen = []
    previous = signal.signal(signal.SIGUSR1, lambda *_: seen.append("handled"))
    try:
        relayout.convert(big(), "ab", "ba", progress=lambda done, total: (signal.raise_signal(signal.SIGUSR1),
                                                                          seen.append("part")))
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert "handled" in seen and seen[-1] == "part"


def test_progress_of_arrays_that_are_stored_otherwise():
    """Big-endian arrays, and one 4-bit element a byte, take a way of their own."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for x in (np.arange(6, dtype=">f4").reshape(2, 3), np.arange(6).reshape(2, 3).astype(ml_dtypes.int4)):
        seen = []
        y = relayout.convert(x, "ab", "ba", progress=lambda done, total: seen.append((done, total)))
        assert (y.astype(int) == x.astype(int).T).all() and seen and seen[-1][0] == seen[-1][1]
