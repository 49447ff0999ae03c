"""gather() and scatter() against NumPy's take and assignment through indices."""
import numpy as np
import pytest
import relayout

RANDOM = np.random.default_rng(3)
TYPES = ["u1", "i2", "f4", "f8", "c16", "V3", "bool", ">f4"]


def random_array(shape, dtype):
    size = np.dtype(dtype).itemsize * int(np.prod(shape))
    x = np.frombuffer(RANDOM.bytes(size), np.uint8) & (1 if dtype == "bool" else 255)
    return x.view(dtype).reshape(shape)


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape, dim", [((40, 7), 0), ((7, 40), 1), ((3, 40, 16), 1), ((3, 5, 40), -1), ((40,), 0)])
def test_gather_is_take(dtype, shape, dim):
    x = random_array(shape, dtype)
    for table in (RANDOM.integers(0, 40, 17), np.arange(40)[::-1], np.zeros(3, np.int32), np.zeros(0, np.int64),
                  np.array([39], np.uint8), RANDOM.integers(0, 40, (4, 6)).astype(np.int16)):
        assert same(relayout.gather(x, table, dim), np.take(x, table.ravel(), dim))
    assert same(relayout.gather(x[..., ::-1], [5, 5, 2], dim), np.take(x[..., ::-1], [5, 5, 2], dim))


@pytest.mark.parametrize("dtype", TYPES)
def test_scatter_is_an_assignment(dtype):
    for dim in (0, 1, 2):
        shape = [6, 5, 4]
        x = random_array(shape, dtype)
        table = RANDOM.permutation(11)[:shape[dim]]
        shape[dim] = 11
        out = random_array(shape, dtype).copy()
        expected = out.copy()
        expected[(slice(None),) * dim + (table,)] = x
        assert relayout.scatter(x, table, dim, out=out) is out
        assert same(out, expected)


def test_blocks_are_pages():
    cache = RANDOM.standard_normal((9 * 16, 8), dtype=np.float32)
    pages = np.array([5, 0, 8], np.int32)
    expected = cache.reshape(9, 16, 8)[pages].reshape(48, 8)
    assert same(relayout.gather(cache, pages, block=16), expected)
    part = np.empty((41, 8), np.float32)
    assert same(relayout.gather(cache, pages, block=16, out=part), expected[:41])
    back = np.zeros_like(cache)
    relayout.scatter(part, pages, block=16, out=back)
    assert same(back.reshape(9, 16, 8)[pages].reshape(48, 8)[:41], part) and np.count_nonzero(back) <= part.size


def test_minus_one_stands_for_none():
    x = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
    assert (relayout.gather(x, [2, -1, 0]) == [[7, 8, 9], [0, 0, 0], [1, 2, 3]]).all()
    out = np.full((5, 3), 9, np.float32)
    relayout.scatter(x, [4, -1, 0, -1], out=out)
    assert (out == [[7, 8, 9], [9, 9, 9], [9, 9, 9], [9, 9, 9], [1, 2, 3]]).all()


def test_ragged_rows():
    starts = np.array([0, 3, 3, 8, 9], np.int32)
    x = RANDOM.standard_normal((9, 5)).astype(np.float32)
    table = relayout.ragged_index(starts, 6)
    padded = np.zeros((4 * 6, 5), np.float32)
    relayout.scatter(x, table, out=padded)
    expected = np.zeros((4, 6, 5), np.float32)
    for row, (begin, end) in enumerate(zip(starts, starts[1:])):
        expected[row, :end - begin] = x[begin:end]
    assert (padded.reshape(4, 6, 5) == expected).all()
    assert (relayout.gather(padded, table) == x).all()


def test_block_rows_of_a_sparse_matrix():
    starts, columns = [0, 2, 2, 5], [1, 3, 0, 2, 3]
    blocks = RANDOM.standard_normal((5, 2, 4)).astype(np.float32)
    table = relayout.sparse_rows_index(starts, columns, 4)
    tiles = np.zeros((3 * 4, 2, 4), np.float32)
    relayout.scatter(blocks, table, out=tiles)
    expected = np.zeros((6, 16), np.float32)
    for row in range(3):
        for k in range(starts[row], starts[row + 1]):
            expected[2 * row:2 * row + 2, 4 * columns[k]:4 * columns[k] + 4] = blocks[k]
    assert (tiles.reshape(3, 4, 2, 4).transpose(0, 2, 1, 3).reshape(6, 16) == expected).all()


def test_what_does_not_fit_is_named_and_nothing_is_written():
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    out = np.full((3, 3), 9, np.float32)
    with pytest.raises(relayout.InvalidArgumentError, match="entry 1 of table of dim 0 is index 4; the layout has"):
        relayout.gather(x, [0, 4, 1], out=out)
    with pytest.raises(relayout.NotInjectiveError, match="entries 0 and 2 of table of dim 0 are both 1"):
        relayout.scatter(x, [1, 0, 1, 2], out=out)
    assert (out == 9).all()
    with pytest.raises(relayout.InvalidArgumentError, match="table of dim 0 has 2 entries"):
        relayout.gather(x, [0, 1], out=out)
    with pytest.raises(relayout.InvalidArgumentError, match="indices are integers"):
        relayout.gather(x, np.array([0.0, 1.0]))
    with pytest.raises(relayout.InvalidArgumentError, match="dim 2: x has dims 0 to 1"):
        relayout.gather(x, [0], 2)
    with pytest.raises(relayout.InvalidArgumentError, match="float32, and out of float64"):
        relayout.gather(x, [0], out=np.empty((1, 3)))
    with pytest.raises(relayout.OverlapError):
        relayout.gather(x, [1, 0], out=x[:2])
    with pytest.raises(relayout.InvalidArgumentError, match="row 1 has 4 indices, more than the longest row, 3"):
        relayout.ragged_index([0, 1, 5], 3)
    read_only = np.empty((1, 3), np.float32)
    read_only.flags.writeable = False
    with pytest.raises(relayout.InvalidArgumentError, match="read-only"):
        relayout.gather(x, [0], out=read_only)


def test_many_rows_and_threads():
    x = RANDOM.integers(0, 1 << 30, (20000, 24)).astype(np.int32)
    table = RANDOM.integers(0, 20000, 30000)
    for threads in (0, 1, 2):
        assert same(relayout.gather(x, table, threads=threads), x[table])
    columns = RANDOM.permutation(24)
    assert same(relayout.gather(x, columns, 1), np.ascontiguousarray(x[:, columns]))


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(60, dtype=torch.bfloat16).reshape(12, 5)
    table = torch.tensor([3, 3, 11], dtype=torch.int32)
    made = relayout.gather(x, table)
    assert made.dtype == torch.bfloat16 and torch.equal(made, x.index_select(0, table))
    out = torch.zeros(20, 5, dtype=torch.bfloat16)
    slots = torch.randperm(20)[:12]
    relayout.scatter(x, slots, out=out)
    assert torch.equal(out[slots], x) and int((out != 0).any(1).sum()) <= 12
