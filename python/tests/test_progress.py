"""progress= of every call that may take many seconds: what it hears, and what becomes of the work where it raises."""
import os
import signal
import threading
import zipfile

import numpy as np
import pytest
import relayout
from opencl_cases import cl, needs_device
from pictures import jpeg, png


class Stop(Exception):
    pass


@pytest.fixture(autouse=True)
def _interrupts_raise():
    """A shell lets what it starts in the background ignore SIGINT."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


class Heard:
    """A progress= that keeps what it hears, and raises at the first call if told to."""

    def __init__(self, stops=False):
        self.said, self.stops = [], stops

    def __call__(self, done, total):
        self.said.append((done, total))
        if self.stops:
            raise Stop

    def check(self, total=None, parts=2):
        done = [done for done, _ in self.said]
        assert len(done) >= parts and done == sorted(done) and {all_ for _, all_ in self.said} == {done[-1]}
        assert total is None or done[-1] == total


def big(rows=1000):
    """Of f32; 40 MB."""
    return np.arange(rows * 10000, dtype=np.float32).reshape(rows, -1)


X = big()
MOVED = 2 * X.nbytes
#: The call, what it gives, and how many bytes are moved.
CALLS = {
    "contiguous": (lambda p: relayout.contiguous(X.T, progress=p), X.T, MOVED),
    "contiguous, order": (lambda p: relayout.contiguous(X, "ba", progress=p), X, MOVED),
    "copy": (lambda p: _copied(np.zeros_like(X), X, p), X, MOVED),
    "copy, converted": (lambda p: _copied(np.zeros(X.shape), X, p), X, X.nbytes * 3),
    "copy, converted and transposed": (lambda p: _copied(np.zeros(X.T.shape).T, X, p), X, X.nbytes * 3),
    "copy, converted by way of another": (lambda p: _widened(X, p), X, X.nbytes * 7),
    "copy within itself": (lambda p: _copied(*_flipped(X), p), X[::-1], 2 * MOVED),
    "transpose": (lambda p: relayout.transpose(X, progress=p), X.T, MOVED),
    "transpose, out": (lambda p: relayout.transpose(X, out=np.zeros_like(X.T), progress=p), X.T, MOVED),
    "rearrange": (lambda p: relayout.rearrange("a b -> b a", X, progress=p), X.T, MOVED),
    "rearrange, out": (lambda p: relayout.rearrange("a b -> b a", X, out=np.zeros(X.T.shape, X.dtype), progress=p), X.T,
                       MOVED),
    "rearrange, list": (lambda p: relayout.rearrange("n a b -> n b a", [X, X], progress=p), np.stack([X.T, X.T]),
                        2 * MOVED),
    "permute_gates": (lambda p: relayout.permute_gates(X, "iofc", "ifco", 0, progress=p),
                      X.reshape(4, 250, -1)[[0, 2, 3, 1]].reshape(X.shape), MOVED),
    "convert": (lambda p: relayout.convert(X, "ab", "ba", progress=p), X.T, MOVED),
}


def _widened(x, progress):
    """Within the memory of the result."""
    memory = np.zeros(x.shape)
    memory.view("f4")[:, :x.shape[1]] = x
    return _copied(memory, memory.view("f4")[:, :x.shape[1]], progress)


def _copied(dst, src, progress):
    relayout.copy(dst, src, progress=progress)
    return dst


def _flipped(x):
    x = x.copy()
    return x, x[::-1]


@pytest.mark.parametrize("name", CALLS)
def test_progress_counts_up_to_all(name):
    call, wanted, total = CALLS[name]
    heard = Heard()
    assert np.array_equal(call(heard), wanted)
    heard.check(total)
    stopped = Heard(stops=True)
    with pytest.raises(Stop):
        call(stopped)
    assert len(stopped.said) == 1 and stopped.said[0][0] < total


def test_progress_of_other_libraries():
    torch = pytest.importorskip("torch")
    t, heard = torch.from_numpy(X), [Heard() for _ in range(3)]
    assert torch.equal(relayout.contiguous(t.T, progress=heard[0]), t.T)
    assert torch.equal(relayout.transpose(t, progress=heard[1]), t.T)
    assert torch.equal(relayout.rearrange("a b -> b a", t, progress=heard[2]), t.T)
    for one in heard:
        one.check(MOVED)


def test_nothing_is_said_where_nothing_moves():
    heard = Heard()
    assert relayout.contiguous(X, progress=heard) is X
    assert np.shares_memory(relayout.rearrange("a b -> a b 1", X, progress=heard), X)
    assert np.shares_memory(relayout.transpose(X.T, progress=heard), X) and heard.said == []


IN_PLACE = {
    "a transposition by pairs of tiles": ("ab", "ba", (3000, 3000)),
    "images, one after the other": ("nchw", "nhwc", (40, 3, 256, 256)),
    "runs along cycles": ("ab", "ba", (1000, 9000)),
    "runs along few cycles": ("abc", "bac", (70, 30, 4096)),
}


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("threads", [0, 1])
def test_an_in_place_reorder_is_watched_and_done_to_its_end(name, threads):
    src, dst, dims = IN_PLACE[name]
    x = np.arange(np.prod(dims), dtype=np.float32).reshape(dims)
    wanted = relayout.convert(x, src, dst)
    heard, y = Heard(), x.copy()
    assert np.array_equal(relayout.reorder_in_place(y, src, dst, threads=threads, progress=heard), wanted)
    heard.check()
    # What it raises is raised when all is done, and it is called no more.
    stopped, y = Heard(stops=True), x.copy()
    with pytest.raises(Stop):
        relayout.reorder_in_place(y, src, dst, threads=threads, progress=stopped)
    assert np.array_equal(y.reshape(-1), wanted.reshape(-1)) and len(stopped.said) == 1
    y = x.copy()
    with pytest.raises(KeyboardInterrupt):
        relayout.reorder_in_place(y, src, dst, threads=threads, progress=lambda *_: os.kill(os.getpid(), signal.SIGINT))
    assert np.array_equal(y.reshape(-1), wanted.reshape(-1))


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.safetensors", "x.bin"])
def test_save_of_an_array(tmp_path, name):
    try:
        relayout.save(tmp_path / name, X[0])
    except relayout.UnsupportedError as error:
        pytest.skip(str(error))
    before = (tmp_path / name).read_bytes()
    with pytest.raises(Stop):
        relayout.save(tmp_path / name, X, overwrite=True, progress=Heard(stops=True))
    assert (tmp_path / name).read_bytes() == before and os.listdir(tmp_path) == [name]
    heard = Heard()
    relayout.save(tmp_path / name, X, overwrite=True, progress=heard)
    heard.check(X.nbytes)


@pytest.mark.parametrize("name", ["x.npz", "x.safetensors"])
def test_save_and_load_of_a_dict(tmp_path, name):
    named = {"a": X, "empty": X[:0], "b": X[:500].astype("f8")}
    heard = Heard()
    try:
        relayout.save(tmp_path / name, named, progress=heard)
    except relayout.UnsupportedError as error:
        pytest.skip(str(error))
    heard.check(parts=5)
    assert heard.said[-1][1] >= 2 * X.nbytes
    with pytest.raises(Stop):
        relayout.save(tmp_path / ("new_" + name), named, progress=Heard(stops=True))
    assert os.listdir(tmp_path) == [name]
    heard = Heard()
    got = relayout.load(tmp_path / name, progress=heard)
    assert list(got) == list(named) and all(np.array_equal(got[key], named[key]) for key in named)
    if name == "x.npz":
        heard.check(2 * X.nbytes, parts=5)
        with pytest.raises(Stop):
            relayout.load(tmp_path / name, progress=Heard(stops=True))
    else:
        assert heard.said == []                       # its pages are the arrays


@pytest.mark.parametrize("name, kind", [("x.png", "whole"), ("x.png", "interlaced"), ("x.jpg", "baseline"),
                                        ("x.jpg", "progressive")])
def test_load_of_a_picture(tmp_path, name, kind):
    if name == "x.png":
        pixels = np.broadcast_to(np.arange(2600, dtype=np.uint8)[:, None], (2600, 2600, 3))    # 20 MB
        data = png(pixels, interlaced=kind == "interlaced")
    else:
        data = jpeg(np.arange(400 * 400, dtype=np.uint8).reshape(400, 400, 1), kind == "progressive")
    (tmp_path / name).write_bytes(data)
    heard = Heard()
    try:
        pixels = relayout.load(tmp_path / name, progress=heard)
    except relayout.UnsupportedError as error:
        pytest.skip(str(error))
    heard.check()
    file = relayout.open(tmp_path / name)
    with pytest.raises(Stop):
        file[""].array(progress=Heard(stops=True))
    again = Heard()
    assert np.array_equal(file[""].array(progress=again), pixels)         # begins anew
    assert again.said == heard.said
    file[""].array(progress=again)
    assert again.said == heard.said                                        # decoded once


def test_an_interrupt_ends_decoding_without_progress(tmp_path):
    """The signal comes as soon as the call gives the GIL away, and decoding takes longer than the first look at it."""
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("x", "w") as member:
            for _ in range(400):
                member.write(bytes(1 << 20))
    ready = threading.Event()

    def interrupt():
        ready.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        ready.set()
        try:
            relayout.load(tmp_path / "x.npz")
        finally:
            thread.join()
    assert relayout.load(tmp_path / "x.npz")["x"].size == 400 << 20


def test_an_interrupt_ends_waiting_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):                # nothing is ever written
        relayout.load(tmp_path / "pipe")
    os.close(writer)


def test_elements_that_are_stored_otherwise_are_changed_in_parts(tmp_path):
    """What NumPy does for relayout goes in parts: big-endian elements, and one 4-bit element a byte."""
    x = np.arange(9 << 20, dtype=">f4").reshape(3, 1 << 20, 3)
    for view in (x, x.transpose(2, 0, 1), x[:, ::-1]):
        relayout.save(tmp_path / "x.npy", view, overwrite=True)
        assert np.array_equal(relayout.load(tmp_path / "x.npy"), view)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    nibbles = (np.arange((5 << 20) + 3) % 16 - 8).astype(ml_dtypes.int4)
    relayout.save(tmp_path / "x.safetensors", {"x": nibbles})
    got = relayout.load(tmp_path / "x.safetensors", "x")
    assert got.dtype == nibbles.dtype and np.array_equal(got.view(np.int8) & 15, nibbles.view(np.int8) & 15)
    assert np.array_equal(relayout.convert(nibbles, "a", "a", dtype="s8"), nibbles.astype(np.int8))


@needs_device
@pytest.mark.parametrize("way", ["mapped", "kernel"])
def test_opencl(way):
    heard = Heard()
    buffer = cl.Buffer.from_array(X, "ba", way=way, progress=heard)
    heard.check(parts=1)
    with pytest.raises(Stop):
        buffer.upload(X, way=way, progress=Heard(stops=True))
    buffer.upload(X, way=way)
    heard = Heard()
    assert np.array_equal(buffer.to_array(way=way, progress=heard), X)
    heard.check(parts=1)
    with pytest.raises(Stop):
        buffer.to_array(way=way, progress=Heard(stops=True))
    image = cl.Image.from_array(X.reshape(1, 1, 1000, -1)[..., :500], "mace:in_out_channel", progress=heard)
    assert heard.said[-1][0] == heard.said[-1][1] and np.array_equal(image.to_array()[0, 0], X[:, :500])
