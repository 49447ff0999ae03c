"""Tests of relayout.rearrange: against einops on random patterns and random strides, and every kind of error.

einops and PyTorch are optional: tests that need one are skipped where it is missing.
"""
import random

import numpy as np
import pytest

import relayout
from relayout import rearrange

NAMES = ("b", "h", "w", "c", "head", "d2", "x_y", "x")
DTYPES = (np.uint8, np.int16, np.float16, np.float32, np.float64, np.complex64)
PUBLISHED = (
    ("n h w c -> n c h w", (2, 5, 6, 3), {}),
    ("b (h d) s -> b h s d", (2, 12, 5), {"h": 3}),
    ("b c (h h2) (w w2) -> b (c h2 w2) h w", (2, 3, 8, 6), {"h2": 2, "w2": 3}),
    ("b (c h2 w2) h w -> b c (h h2) (w w2)", (2, 12, 3, 5), {"h2": 2, "w2": 2}),
    ("... c -> c ...", (2, 3, 4, 5), {}),
    ("... c -> c (...)", (2, 3, 4, 5), {}),
    ("... c -> ... c", (5,), {}),
    ("b 1 c -> b c", (4, 1, 3), {}),
    ("b () c -> b c () 1", (4, 1, 3), {}),
    ("b (h 1) -> (1 b) h", (4, 3), {}),
    ("->", (), {}),
    ("-> 1 ()", (), {}),
    ("1 -> ", (1,), {}),
    ("a b->b a", (2, 3), {}),
    ("  a   ( b c )  ->  ( c a )   b ", (2, 6), {"b": 2}),
    ("b t -> t b", (0, 3), {}),
    ("(b t) c -> t b c", (0, 3), {"b": 2}),
)


class RandomPattern:
    """A pattern with the shape and the sizes that belong to it."""

    def __init__(self, rng):
        names = rng.sample(NAMES, rng.randint(0, 5))
        extents = {name: rng.choice((1, 2, 2, 3, 4, 5)) for name in names}
        ellipsis = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))] if rng.random() < 0.3 else None
        left = self.groups(rng, names, allow_ellipsis=False)
        if ellipsis is not None:
            left.insert(rng.randint(0, len(left)), ["..."])
        self.shape, self.sizes = (), {}
        for group in left:
            if group == ["..."]:
                self.shape += tuple(ellipsis)
                continue
            self.shape += (int(np.prod([extents.get(name, 1) for name in group])),)
            axes = [name for name in group if name in extents]
            given = len(axes) if rng.random() < 0.2 else max(len(axes) - 1, 0)
            self.sizes.update({name: extents[name] for name in rng.sample(axes, given)})
        right = names[:] if rng.random() < 0.2 else rng.sample(names, len(names))
        if ellipsis is not None:
            right.insert(rng.randint(0, len(right)), "...")
        self.text = f"{self.write(rng, left)} -> {self.write(rng, self.groups(rng, right, allow_ellipsis=True))}"

    @staticmethod
    def groups(rng, names, allow_ellipsis):
        """Neighbours in groups of 1 to 3, and dims of extent 1 between them; a lone "..." as ["..."]."""
        groups, names = [], list(names)
        while names or rng.random() < 0.2:
            if not names or rng.random() < 0.15:
                groups.append([])
                continue
            count = rng.choice((1, 1, 1, 2, 3))
            group, names = names[:count], names[count:]
            if rng.random() < 0.1 and len(group) > 1:
                group.insert(rng.randint(0, len(group)), "1")
            groups.append(group)
        assert allow_ellipsis or ["..."] not in groups
        return groups

    @staticmethod
    def write(rng, groups):
        def one(group):
            if not group:
                return rng.choice(("1", "()"))
            return group[0] if len(group) == 1 and rng.random() < 0.9 or group == ["..."] else f"({' '.join(group)})"
        return " ".join(map(one, groups))


def random_array(rng, shape):
    """An array of any strides: row-major, permuted, sliced, flipped, broadcast, or with gaps."""
    dtype = rng.choice(DTYPES)
    order = rng.sample(range(len(shape)), len(shape))
    steps = [rng.choice((1, 1, 1, 2, -1)) for _ in shape]
    plain = rng.random() < 0.3
    if plain:
        order, steps = list(range(len(shape))), [1] * len(shape)
    full = [shape[dim] * abs(steps[dim]) for dim in order]
    values = np.random.default_rng(rng.randint(0, 2**31)).integers(0, 200, size=full).astype(dtype)
    array = values.transpose(np.argsort(order))[(*(slice(None, None, step) for step in steps), ...)]
    if shape and not plain and rng.random() < 0.15:
        dim = rng.randrange(len(shape))
        array = np.broadcast_to(array.take([0] if shape[dim] else [], axis=dim), shape)
    assert array.shape == tuple(shape)
    return array


def check(text, x, sizes):
    """Compares with einops: the result, and that it is dense and shares memory only where it may."""
    einops = pytest.importorskip("einops")
    expected = np.asarray(einops.rearrange(x, text, **sizes))
    result = rearrange(text, x, **sizes)
    assert type(result) is np.ndarray and result.dtype == x.dtype
    assert result.shape == expected.shape, (text, x.shape, sizes)
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(result, expected, err_msg=f"{text} {x.shape} {sizes}")
    fresh = rearrange(text, x, copy=True, threads=1, **sizes)
    np.testing.assert_array_equal(fresh, expected)
    assert not np.shares_memory(fresh, x)
    return expected, result


@pytest.mark.parametrize("text, shape, sizes", PUBLISHED)
def test_published_patterns(text, shape, sizes):
    check(text, np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np.float32), sizes)


@pytest.mark.parametrize("seed", range(40))
def test_random_patterns_agree_with_einops(seed):
    rng = random.Random(seed)
    for _ in range(100):
        pattern = RandomPattern(rng)
        check(pattern.text, random_array(rng, pattern.shape), pattern.sizes)


@pytest.mark.parametrize("seed", range(10))
def test_a_destination_of_any_strides_is_written(seed):
    rng = random.Random(1000 + seed)
    for _ in range(50):
        pattern = RandomPattern(rng)
        x = random_array(rng, pattern.shape)
        expected, _ = check(pattern.text, x, pattern.sizes)
        steps = [rng.choice((1, 2, -1)) for _ in expected.shape]
        whole = np.zeros([extent * abs(step) for extent, step in zip(expected.shape, steps)], x.dtype)
        out = whole[(*(slice(None, None, step) for step in steps), ...)]
        assert rearrange(pattern.text, x, out=out, **pattern.sizes) is out
        np.testing.assert_array_equal(out, expected)
        assert np.count_nonzero(whole) == np.count_nonzero(expected), "gaps of the destination were written"


@pytest.mark.parametrize("seed", range(10))
def test_lists_agree_with_einops(seed):
    einops = pytest.importorskip("einops")
    rng = random.Random(2000 + seed)
    tried = 0
    while tried < 50:
        pattern = RandomPattern(rng)
        if not pattern.shape or pattern.shape[0] > 8:
            continue
        tried += 1
        whole = random_array(rng, pattern.shape)
        arrays = [whole[index] if whole.ndim > 1 else np.array(whole[index]) for index in range(len(whole))]
        expected = einops.rearrange(arrays, pattern.text, **pattern.sizes)
        result = rearrange(pattern.text, arrays, **pattern.sizes)
        assert result.dtype == expected.dtype and result.flags.c_contiguous
        np.testing.assert_array_equal(result, expected, err_msg=pattern.text)
        out = np.empty_like(expected)
        assert rearrange(pattern.text, tuple(arrays), out=out, **pattern.sizes) is out
        np.testing.assert_array_equal(out, expected)


def test_lists_of_different_types_are_stacked_by_their_library():
    arrays = [np.ones((2, 3), np.float32), np.ones((2, 3), np.float64)]
    result = rearrange("b h w -> h b w", arrays)
    assert result.dtype == np.float64 and result.shape == (2, 2, 3)


def test_what_is_dense_already_is_a_view():
    x = np.arange(24.0).reshape(4, 6)
    for text, sizes in (("a b -> a b", {}), ("a (b c) -> (a b) c", {"b": 2}), ("a b -> 1 (a b)", {}),
                        ("(a b) c -> a b c", {"a": 2})):
        assert np.shares_memory(rearrange(text, x, **sizes), x)
        assert np.shares_memory(rearrange(text, x, copy=False, **sizes), x)
        assert not np.shares_memory(rearrange(text, x, copy=True, **sizes), x)
    assert np.shares_memory(rearrange("a b -> b a", x.T, copy=False), x)
    one = np.arange(6.0).reshape(1, 6)
    assert np.shares_memory(rearrange("a b -> b a", one, copy=False), one)


def test_a_copy_that_is_forbidden_is_an_error():
    x = np.arange(24.0).reshape(4, 6)
    for array in (x, [x, x]):
        text = "a b -> b a" if array is x else "n a b -> n a b"
        with pytest.raises(relayout.NeedsCopyError):
            rearrange(text, array, copy=False)
    assert issubclass(relayout.NeedsCopyError, ValueError)


def test_a_group_of_a_strided_dim_is_split_without_a_copy(monkeypatch):
    """What is materialised is a view of the source, for a slice, a flip and a broadcast dim."""
    from relayout import _native
    seen = []
    whole = np.arange(96.0).reshape(8, 12)
    original = _native.contiguous
    monkeypatch.setattr(_native, "contiguous", lambda x, **options: (seen.append(x), original(x, **options))[1])
    for x in (whole[:, ::2], whole[::-1, 6:], whole.T[::2], np.broadcast_to(whole[:1], (8, 12))):
        x = x[:, :6] if x.shape[1] > 6 else x
        rearrange("a (b c) -> c a b", x, b=2)
        assert np.shares_memory(seen[-1], whole) and seen[-1].shape[2] == 2


ERRORS = (
    # pattern, shape, sizes, a part of the message, what the carets are under
    ("a b", (2, 3), {}, 'no "->"', None),
    ("a -> a -> a", (2,), {}, 'second "->"', "->"),
    ("(a b -> a b", (2, 3), {}, 'no ")"', "("),
    ("a b) -> a b", (2, 3), {}, 'no "("', ")"),
    ("((a) b) -> a b", (6,), {}, "inside parentheses", "("),
    ("a b -> a b a", (2, 3), {}, '"a" stands twice on the right side', "a"),
    ("a a -> a", (2, 2), {}, '"a" stands twice on the left side', "a"),
    ("a b -> a", (2, 3), {}, '"b" stands only on the left side', "b"),
    ("a -> a rep", (2,), {}, "does not repeat", "rep"),
    ("a -> a rep", (2,), {"rep": 3}, '"rep" stands only on the right side', "rep"),
    ("a 3 -> a", (2, 3), {}, "extent 1, not 3", "3"),
    ("a -> a 0", (2,), {}, "extent 1, not 0", "0"),
    ("2a -> 2a", (2,), {}, '"2a" is not a name', "2a"),
    ("_a -> _a", (2,), {}, 'starts or ends with "_"', "_a"),
    ("_ a -> a", (2, 3), {}, 'starts or ends with "_"', "_"),
    ("a, b -> b a", (2, 3), {}, "',' has no meaning", ","),
    ("a\tb -> a", (2, 3), {}, r"'\t' has no meaning", None),
    ("a . -> a", (2, 3), {}, "dots stand only in threes", "."),
    ("a .... -> a", (2, 3), {}, "dots stand only in threes", "."),
    ("... a ... -> a ...", (2, 3), {}, '"..." stands twice', "..."),
    ("(... a) -> a ...", (2, 3), {}, "in parentheses on the left side", "..."),
    ("... a -> a", (2, 3), {}, '"..." stands only on the left side', "..."),
    ("a b -> a b ...", (2, 3), {}, '"..." stands only on the right side', "..."),
    ("a b c -> c b a", (2, 3), {}, "describes 3 dims, but the array has 2: its shape is (2, 3)", "c"),
    ("a -> a", (2, 3), {}, "describes 1 dim, but the array has 2", "a"),
    ("... a b c -> a b c ...", (2, 3), {}, "describes 3 or more dims, but the array has 2", "... a b c"),
    ("a (b c) -> a b c", (2, 12), {"b": 5}, "dim 1 of the array has the extent 12, which is not a multiple of b = 5",
     "(b c)"),
    ("(a b c) -> a b c", (12,), {"a": 2, "c": 4}, "not a multiple of a = 2 * c = 4 (in all 8)", "(a b c)"),
    ("a (b c) -> a b c", (2, 12), {}, 'the sizes of "b" and "c" are not known', "(b c)"),
    ("a (b out) -> a b out", (2, 12), {}, '"out=" is an argument of rearrange itself', "(b out)"),
    ("a (b c) -> a b c", (2, 12), {"b": 5, "c": 2}, "extent 12, but the pattern says b = 5 * c = 2, which is 10",
     "(b c)"),
    ("a b -> b a", (2, 12), {"b": 11}, "extent 12, but the pattern says b = 11", "b"),
    ("a 1 -> a", (2, 3), {}, "extent 3, but the pattern says the extent 1", "1"),
    ("a () -> a", (2, 3), {}, "extent 3, but the pattern says the extent 1", "()"),
    ("(a b) -> a b", (0,), {"a": 0}, '"b" does not follow', "(a b)"),
    ("a b -> b a", (2, 3), {"b": -3}, '"b" is -3, which is below 0', "b"),
    ("a b -> b a", (2, 3), {"z": 3}, '"z", which is no axis of the pattern; its axes: a, b', None),
)


@pytest.mark.parametrize("text, shape, sizes, message, marked", ERRORS)
def test_errors_name_what_is_wrong_and_show_the_place(text, shape, sizes, message, marked):
    with pytest.raises(relayout.ParseError) as caught:
        rearrange(text, np.zeros(shape), **sizes)
    lines = str(caught.value).splitlines()
    assert message in lines[0] and lines[1] == "  " + text
    assert issubclass(relayout.ParseError, ValueError)
    if marked is not None:
        start, end = lines[2].index("^"), lines[2].rindex("^") + 1
        assert lines[1][start:end] == marked


@pytest.mark.parametrize("text, shape, sizes, message, marked", ERRORS)
def test_what_is_refused_is_refused_by_einops_too(text, shape, sizes, message, marked):
    einops = pytest.importorskip("einops")
    with pytest.raises(Exception):  # einops raises errors of several types, among them ValueError for unpacking
        einops.rearrange(np.zeros(shape), text, **sizes)


def test_arguments_of_wrong_types():
    x = np.zeros((2, 3))
    for call, message in (
            (lambda: rearrange(x, "a b -> b a"), "the pattern comes first, then the array"),
            (lambda: rearrange(3, x), "the pattern is not a text but a int"),
            (lambda: rearrange("a b -> b a", 3), "a int is no array"),
            (lambda: rearrange("a b -> b a", x, b=3.0), "the size of \"b\" is 3.0, which is not a whole number"),
            (lambda: rearrange("a b -> b a", x, b=[3]), "the size of \"b\" is \\[3\\], which is not a whole number"),
            (lambda: rearrange("a out -> out a", x, out=3), "the destination is a int"),
            (lambda: rearrange("n a -> a n", [x[0], 3]), "element 1 of the list is a int")):
        with pytest.raises(TypeError, match=message):
            call()
    rearrange("a b -> b a", x, b=3)
    with pytest.raises(TypeError):  # although 3.0 == 3, which is remembered
        rearrange("a b -> b a", x, b=3.0)
    assert rearrange("a b -> b a", x, b=np.int64(3)).shape == (3, 2)


def test_arguments_of_wrong_values():
    x = np.zeros((2, 3))
    for call, message in (
            (lambda: rearrange("a b -> b a", x, out=np.zeros((2, 3))), r"out is \(2, 3\), and the result \(3, 2\)"),
            (lambda: rearrange("a b -> b a", x, out=np.zeros((3, 2)), copy=False), "copy=False contradicts"),
            (lambda: rearrange("n a -> a n", []), "the list has no arrays"),
            (lambda: rearrange("n a b -> n b a", [x, x.T]), r"array 0 has \(2, 3\) and array 1 has \(3, 2\)")):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("seed", range(5))
def test_pytorch_tensors(seed):
    torch = pytest.importorskip("torch")
    einops = pytest.importorskip("einops")
    rng = random.Random(3000 + seed)
    for _ in range(60):
        pattern = RandomPattern(rng)
        x = torch.rand([extent * 2 for extent in pattern.shape])
        for dim in range(x.ndim):
            x = x.narrow(dim, 0, pattern.shape[dim]) if rng.random() < 0.5 else x.unfold(dim, 1, 2).squeeze(-1)
        expected = einops.rearrange(x, pattern.text, **pattern.sizes)
        result = rearrange(pattern.text, x, **pattern.sizes)
        assert type(result) is torch.Tensor and result.is_contiguous() and result.shape == expected.shape
        assert torch.equal(result, expected)
        out = torch.empty_like(result)
        assert rearrange(pattern.text, x, out=out, **pattern.sizes) is out and torch.equal(out, expected)


def test_a_destination_that_shares_memory_with_a_list():
    whole = np.arange(24.0).reshape(2, 3, 4)
    before = whole.copy()
    for arrays in ([whole[0], whole[1]], [np.zeros((3, 4)), whole[1, ::-1]]):
        with pytest.raises(relayout.OverlapError) as caught:
            rearrange("n a b -> n a b", arrays, out=whole[::-1])
        assert caught.value.field == "out" and (whole == before).all()
    # One array may share memory with its destination.
    assert (rearrange("n a b -> n b a", whole, out=whole.reshape(2, 4, 3)) == before.transpose(0, 2, 1)).all()


def test_lists_of_pytorch_tensors():
    torch = pytest.importorskip("torch")
    images = [torch.rand(4, 5, 3) for _ in range(6)]
    expected = torch.stack(images)
    assert torch.equal(rearrange("b h w c -> b c h w", images), expected.permute(0, 3, 1, 2))
    assert torch.equal(rearrange("(b1 b2) h w c -> c (b1 h) (b2 w)", images, b1=2),
                       expected.reshape(2, 3, 4, 5, 3).permute(4, 0, 2, 1, 3).reshape(3, 8, 15))


def test_errors_say_their_fields():
    x = np.zeros((6, 4))
    cases = [
        (lambda: relayout.rearrange("a b -> b a c", x), "pattern", "c", ""),
        (lambda: relayout.rearrange("a b -> (b a", x), "pattern", "(", ""),
        (lambda: relayout.rearrange("a b -> b a", x, c=2), "c", "2", "a, b"),
        (lambda: relayout.rearrange("a b -> b a", x, a=-1), "a", "-1", "0 or more"),
        (lambda: relayout.rearrange("a b c -> c b a", x), "shape", "(6, 4)", "3 dims"),
        (lambda: relayout.rearrange("(a c) b -> a b c", x, a=4), "dims[0]", "6", "a multiple of 4"),
        (lambda: relayout.rearrange("a b -> b a", x, b=5), "dims[1]", "4", "5"),
        (lambda: relayout.rearrange("(a c) b -> a b c", x), "a", "", ""),
        (lambda: relayout.rearrange("a b -> b a", x, out=np.zeros((6, 4))), "out", "(6, 4)", "(4, 6)"),
        (lambda: relayout.rearrange("a b -> b a", x, out=np.zeros((4, 6)), copy=False), "copy", "False",
         "None or True"),
        (lambda: relayout.rearrange("n a -> a n", [np.zeros(2), np.zeros(3)]), "x[1]", "(3,)", "(2,)"),
        (lambda: relayout.rearrange("n a -> a n", []), "x", "0", "1 or more"),
    ]
    for call, field, value, limit in cases:
        with pytest.raises(ValueError) as caught:
            call()
        error = caught.value
        assert (error.field, error.value, error.limit) == (field, value, limit), str(error)
