"""Whether arrays share memory, and whether they lie channels-last: compared with NumPy's and PyTorch's answers."""
import copy
import pickle
import random

import numpy as np
import pytest
import relayout


def random_view(rng, memory):
    """A view of some bytes with any strides, of elements of 1 to 8 bytes."""
    dtype = rng.choice([np.uint8, np.uint16, np.float32, np.float64, "V3"])
    item = np.dtype(dtype).itemsize
    while True:
        shape = [rng.randint(1, 5) for _ in range(rng.randint(0, 3))]
        strides = [rng.randint(-12, 12) for _ in shape]
        low = sum(min(s, 0) * (n - 1) for s, n in zip(strides, shape))
        high = sum(max(s, 0) * (n - 1) for s, n in zip(strides, shape)) + item
        if high - low <= memory.size:
            start = rng.randint(0, memory.size - (high - low)) - low
            return np.ndarray(shape, dtype, memory, start, strides)


def test_the_answer_is_numpys():
    rng = random.Random(5)
    memory = np.zeros(160, np.uint8)
    answers = []
    for _ in range(4000):
        x, y = random_view(rng, memory), random_view(rng, memory)
        answers.append(relayout.overlaps(x, y))
        assert answers[-1] == np.shares_memory(x, y), (x.__array_interface__, y.__array_interface__)
        assert relayout.overlaps(y, x) == answers[-1]
    assert 500 < sum(answers) < 3500


def test_parts_of_one_array():
    b = np.zeros((64, 3, 50), np.float32)
    assert not relayout.overlaps(b[::2], b[1::2]) and relayout.overlaps(b[::2], b[2::2])
    assert not relayout.overlaps(b[..., ::2], b[..., 1::2]) and not relayout.overlaps(b, b.copy())
    assert not relayout.overlaps(b[:0], b) and relayout.overlaps(b, b.view(np.uint8)[..., 1:])
    many = np.zeros((2,) * 12, "V3")
    assert relayout.overlaps(many, many[..., ::-1]) and not relayout.overlaps(many[0], many[1])


def test_arrays_of_other_libraries():
    x = np.zeros((6, 4), np.int16)
    buffer = relayout.Buffer.from_dlpack(x)
    assert relayout.overlaps(buffer, x[1]) and relayout.overlaps(memoryview(x), buffer)
    blocked = relayout.Buffer.allocate(relayout.layout("nChw8c", (1, 3, 2, 2)), "s4")
    assert relayout.overlaps(blocked, blocked) and not relayout.overlaps(blocked, x)
    torch = pytest.importorskip("torch")
    t = torch.from_numpy(x)
    assert relayout.overlaps(t[::2], x[::2]) and not relayout.overlaps(t[::2], x[1::2])
    weight = torch.nn.Parameter(torch.zeros(4))
    assert relayout.overlaps(weight, weight[1:])


def test_layouts_of_arrays_do_not_answer_for_arrays():
    b = np.zeros(10)
    even, odd = b[::2], b[1::2]
    with pytest.raises(relayout.InvalidArgumentError, match=r"relayout.overlaps\(x, y\)"):
        relayout.layout_of(even).overlaps(relayout.layout_of(odd))
    based = [relayout.layout_of(x, base=b) for x in (even, odd, b[::-3])]
    assert [layout.offset0 for layout in based] == [0, 1, 9]
    assert based[0].overlaps(based[1]) is False and based[0].overlaps(based[2]) is True
    whole = relayout.layout_of(b)
    assert whole[::2].overlaps(whole[1::2]) is False       # both are views of one layout
    assert relayout.layout("strides:2", (3,)).overlaps(relayout.layout("strides:2@1", (3,))) is False
    assert relayout.layout_of(b[2:3].reshape(()), base=b).offset0 == 2


def test_views_of_layouts_of_arrays_do_not_answer_either():
    b = np.zeros((4, 10))
    one, two = relayout.layout_of(b[::2]), relayout.layout_of(b[1::2])
    views = [lambda l: l.permute(1, 0), lambda l: l.transpose(0, 1), lambda l: l[:1], lambda l: l[0],
             lambda l: l[..., None], lambda l: l.flip(1), lambda l: l.narrow(1, 2, 3), lambda l: l.select(0, 1),
             lambda l: l.flatten(1, 1),
             lambda l: l[:, :1].expand(2, 7), lambda l: l[:1].squeeze(), lambda l: l[:1].squeeze(0),
             lambda l: l.unsqueeze(0), lambda l: l.split(1, (2, 5)), lambda l: l.merge(0, 1),
             lambda l: l.unfold(1, 3, 2),
             lambda l: l.diagonal(), lambda l: l.as_strided((2,), (1,), 0), lambda l: l.submemory((1, 2), (0, 0)),
             lambda l: l.canonical(), lambda l: l.permute(1, 0)[2:].flip(0), lambda l: l.view(2, 5, 2), copy.copy,
             copy.deepcopy, lambda l: pickle.loads(pickle.dumps(l))]
    assert len(views) > 20
    for view in views:
        for pair in ((view(one), two), (one, view(two)), (view(one), view(two))):
            with pytest.raises(relayout.InvalidArgumentError, match=r"relayout.overlaps\(x, y\)"):
                pair[0].overlaps(pair[1])
    # Of one array's layout all views count from one address, and so do layouts of one base.
    assert copy.copy(one).overlaps(copy.deepcopy(one)) and one[:, 2:].permute(1, 0).overlaps(one.flip(0))
    assert not one[0].overlaps(one[1])
    based = [relayout.layout_of(x, base=b) for x in (b[::2], b[1::2])]
    assert based[0].permute(1, 0).overlaps(based[1][:1]) is False and based[0][1:].overlaps(based[0]) is True
    with pytest.raises(relayout.InvalidArgumentError, match=r"relayout.overlaps\(x, y\)"):
        based[0].overlaps(one)                        # one counts from b, the other from the array
    assert pickle.loads(pickle.dumps(based[0])).overlaps(based[1]) is False
    plain = relayout.layout("ab", (4, 10))
    assert plain.overlaps(one) and plain[:1].overlaps(based[1]) is False


def test_what_base_cannot_be():
    b = np.zeros(10)
    with pytest.raises(relayout.InvalidArgumentError, match="before base"):
        relayout.layout_of(b, base=b[1:])
    with pytest.raises(relayout.UnsupportedError, match="whole number"):
        relayout.layout_of(b.view(np.uint8)[4:12].view(np.float64), base=b)


def test_channels_last_is_what_pytorch_says():
    torch = pytest.importorskip("torch")
    rng = random.Random(3)
    for rank, memory_format in ((4, torch.channels_last), (5, torch.channels_last_3d)):
        for _ in range(2000):
            dims = [rng.choice([0, 1, 1, 2, 3]) for _ in range(rank)]
            kind = rng.randrange(3)
            x = torch.zeros(dims)
            if kind == 0:
                x = x.contiguous(memory_format=memory_format)
            elif kind == 1:
                order = rng.sample(range(rank), rank)
                x = torch.zeros([dims[d] for d in order]).permute([order.index(d) for d in range(rank)])
            if rng.random() < 0.3:
                x = x[..., ::2]
            assert relayout.is_channels_last(x) == x.is_contiguous(memory_format=memory_format), (dims, x.stride())


def test_channels_last_of_other_arrays():
    x = np.zeros((2, 5, 6, 3), np.float32)
    assert relayout.is_channels_last(x.transpose(0, 3, 1, 2)) and not relayout.is_channels_last(x)
    assert relayout.is_channels_last(np.zeros((2, 7, 3)).transpose(0, 2, 1))          # n, w, c
    assert relayout.is_channels_last(np.zeros((2, 4, 5, 6, 3)).transpose(0, 4, 1, 2, 3))
    assert not relayout.is_channels_last(x[..., :2].transpose(0, 3, 1, 2))            # gaps
    assert relayout.is_channels_last(np.zeros((2, 1, 5, 6))) and relayout.is_channels_last(np.zeros((2, 3, 1, 1)))
    assert not relayout.is_channels_last(np.zeros((2, 3))) and not relayout.is_channels_last(np.zeros(()))
    assert relayout.is_channels_last(relayout.layout("nhwc", (2, 3, 4, 5)))
    assert not relayout.is_channels_last(relayout.layout("nChw8c", (2, 16, 4, 5)))
    assert not relayout.is_channels_last(relayout.layout("nchw", (2, 3, 4, 5)))
