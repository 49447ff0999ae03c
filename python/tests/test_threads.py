"""Many threads at once: results are right, sources may be shared, and other threads of Python run meanwhile."""
import sys
import threading
import time

import numpy as np
import pytest
import relayout
from reference import pack

THREADS = 8


def in_threads(work, count=THREADS):
    """Runs work(0), work(1), ... at once, and raises what one of them raised."""
    failures, barrier = [], threading.Barrier(count)

    def run(i):
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.fixture(autouse=True)
def quick_switches():
    """Threads of Python change places often, so that more interleavings are seen."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("shape", [(5, 7), (300, 400, 3)])
def test_one_source_for_all(shape):
    source = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    expected = np.ascontiguousarray(source.T)
    letters = "abc"[:len(shape)]
    blocked = relayout.convert(source, letters, letters.replace("a", "A") + "8a")

    def work(i):
        for _ in range(20):
            assert np.array_equal(relayout.contiguous(source.T), expected)
            assert np.array_equal(relayout.transpose(source, threads=1 + i % 2), expected)
            assert np.array_equal(relayout.convert(source, letters, letters.replace("a", "A") + "8a"), blocked)
            out = np.empty_like(expected)
            relayout.copy(out, source.T)
            assert np.array_equal(out, expected)

    in_threads(work)


def test_parts_of_one_destination():
    source = np.random.default_rng(0).integers(0, 255, (THREADS, 200, 300), np.uint8)
    out = np.zeros((THREADS, 300, 200), np.uint8)

    def work(i):
        for _ in range(20):
            relayout.copy(out[i], source[i].T)

    in_threads(work)
    assert np.array_equal(out, source.transpose(0, 2, 1))


def test_the_cache_of_plans():
    """Other shapes in each thread, while one thread drops all plans again and again."""
    def work(i):
        if i == 0:
            for _ in range(200):
                relayout.clear_plan_cache()
                relayout.plan_cache()
            return
        for n in range(1, 150):
            x = np.arange(n * (i + 1)).reshape(n, i + 1)
            assert np.array_equal(relayout.contiguous(x.T), x.T)
            assert np.array_equal(relayout.convert(x, "ab", "bA4a"), pack(x, "bA4a"))

    in_threads(work)


def test_layouts_are_shared():
    layout = relayout.layout("nChw16c", (2, 17, 5, 4))

    def work(i):
        for n in range(300):
            assert layout[n % 2, i].dims == (5, 4) and hash(layout) == hash(layout.permute(0, 1, 2, 3))
            assert eval(repr(layout)) == layout

    in_threads(work)


def test_errors_in_threads():
    def work(i):
        for _ in range(200):
            with pytest.raises(relayout.NeedsCopyError) as caught:
                relayout.contiguous(np.zeros((2, i + 2)).T, copy=False)
            assert caught.value.field == "copy"
            with pytest.raises(relayout.ParseError):
                relayout.layout("nChw8q", (1, 2, 3, i))

    in_threads(work)


def steps_of_another_thread(call):
    """How often another thread of Python got its turn during up to 50 calls.

    Its counter is read right before and right after a call, while threads change places only where one gives up the GIL
    (the interval is an hour): so it can only have moved because the call did.
    """
    steps, stop, started = [0], [False], threading.Event()

    def count():
        while not stop[0]:
            steps[0] += 1
            started.set()
            time.sleep(0)  # gives the GIL up

    other = threading.Thread(target=count)
    other.start()
    started.wait()
    before_all = sys.getswitchinterval()
    sys.setswitchinterval(3600)
    time.sleep(0.01)  # a switch that was asked for before happens here
    moved = 0
    try:
        for _ in range(50):
            before = steps[0]
            call()
            moved += steps[0] - before
            if moved > 10:
                break
    finally:
        sys.setswitchinterval(before_all)
        stop[0] = True
        other.join()
    return moved


def test_the_gil_is_released():
    source = np.zeros((2000, 3000), np.float32)
    out = np.zeros((3000, 2000), np.float32)
    assert steps_of_another_thread(lambda: relayout.contiguous(source.T)) > 0
    assert steps_of_another_thread(lambda: relayout.copy(out, source.T)) > 0
    assert steps_of_another_thread(lambda: relayout.convert(source, "ab", "ba", out=out)) > 0
    assert steps_of_another_thread(lambda: relayout.reorder_in_place(source, "ab", "ba")) > 0


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="this Python has no GIL")
def test_the_test_above_sees_a_gil_that_is_kept():
    numbers = [3, 1, 2] * 20000
    assert steps_of_another_thread(lambda: sorted(numbers)) == 0


def test_files_in_threads(tmp_path):
    def work(i):
        for n in range(20):
            x = np.full((i + 1, 50), n, np.int32)
            relayout.save(tmp_path / f"{i}.npy", x, overwrite=True)
            assert np.array_equal(relayout.load(tmp_path / f"{i}.npy"), x)

    in_threads(work)


def test_torch_in_threads():
    torch = pytest.importorskip("torch")
    source = torch.arange(120000).reshape(300, 400)
    expected = source.t().contiguous()

    def work(i):
        for _ in range(50):
            assert torch.equal(relayout.contiguous(source.t()), expected)
            assert torch.equal(relayout.contiguous(source[:3, :2].t()), expected[:2, :3])

    in_threads(work)
