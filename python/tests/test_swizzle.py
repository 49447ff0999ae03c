"""Swizzled layouts: their offsets, reorders and refusals against NumPy, and bank conflicts against sets of words."""
import pickle

import numpy as np
import pytest
import relayout

ROWS, COLUMNS = np.meshgrid(np.arange(128), np.arange(64), indexing="ij")
OFFSETS = (lambda x: x ^ ((x >> 3) & 0b111000))(ROWS * 64 + COLUMNS)
TILE = relayout.layout("cute:Sw<3,3,3>o0o(128,64):(64,1)")


def test_offsets_are_those_of_the_formula():
    assert TILE.swizzle == (3, 3, 3)
    for row, column in ((0, 0), (1, 0), (5, 17), (127, 63)):
        assert TILE.offset(row, column) == OFFSETS[row, column]
        assert TILE.index(int(OFFSETS[row, column])) == ("element", (row, column))
    assert TILE.dense and TILE.injective and TILE.span_elements == 128 * 64


def test_text_and_pickle_keep_the_swizzle():
    assert eval(repr(TILE)) == TILE == pickle.loads(pickle.dumps(TILE))
    part = TILE[3:9]
    assert part.swizzle == (3, 3, 3) and eval(repr(part)) == part
    assert part.offset(2, 5) == TILE.offset(5, 5)
    assert hash(relayout.layout("ab;swizzle=3,3,3", (128, 64))) == hash(TILE)
    assert relayout.interop.from_cute(relayout.interop.to_cute(part)) == part
    assert TILE.plain == relayout.layout("ab", (128, 64)) != TILE
    assert TILE.plain.swizzle is None
    assert TILE._repr_html_().startswith("<svg")


def test_equal_layouts_of_two_spellings_have_one_hash():
    a, b = relayout.layout("cute:Sw<1,0,3>o0o(2):(8)"), relayout.layout("strides:9", (2,))
    assert a == b and hash(a) == hash(b)


@pytest.mark.parametrize("dtype", ["float16", "uint8", "float32", "float64"])
def test_reorders_are_numpys(dtype):
    plain = np.arange(128 * 64).astype(dtype).reshape(128, 64)
    expected = np.zeros(128 * 64, dtype)
    expected[OFFSETS] = plain
    swizzled = relayout.convert(plain, "ab", "ab;swizzle=3,3,3")
    assert np.array_equal(np.asarray(swizzled).ravel(), expected)
    assert np.array_equal(relayout.convert(expected, TILE, "ab", dims=None).reshape(128, 64), plain)
    columns = relayout.convert(expected, TILE, "ba")
    assert np.array_equal(columns, plain.T)


def test_what_has_strides_alone_refuses():
    for ask in (lambda: TILE.digits, lambda: TILE.strides_elements, lambda: TILE.strides_bytes("f16"),
                lambda: TILE.as_("numpy"), lambda: TILE.as_("pytorch"), lambda: TILE.as_("onednn"),
                lambda: relayout.interop.to_numpy(TILE), lambda: relayout.interop.to_directml(TILE)):
        with pytest.raises(relayout.UnsupportedError, match="Sw<3,3,3>"):
            ask()
    with pytest.raises(relayout.InvalidArgumentError):
        relayout.contiguous(np.zeros((8, 64)), "ab;swizzle=3,3,3")


def wavefronts(offsets, item, lanes):
    """Of accesses of so many bytes a lane, in phases of `lanes`, by sets of words."""
    total = 0
    for first in range(0, len(offsets), lanes):
        words = {}
        for offset in offsets[first:first + lanes]:
            for byte in range(offset * 2, offset * 2 + item):
                words.setdefault(byte // 4 % 32, set()).add(byte // 4)
        total += max(map(len, words.values()))
    return total


@pytest.mark.parametrize("layout, offsets", [(TILE.plain, ROWS * 64 + COLUMNS), (TILE, OFFSETS)])
def test_conflicts_are_those_of_sets_of_words(layout, offsets):
    matrices = [int(offsets[r, c]) for c in range(0, 64, 8) for r in range(128)]
    assert relayout.bank_conflicts(layout, "ldmatrix")["wavefronts"] == wavefronts(matrices, 16, 8)
    columns = [int(offsets[r, c]) for c in range(64) for r in range(128)]
    assert relayout.bank_conflicts(layout, "column")["wavefronts"] == wavefronts(columns, 2, 32)


def test_the_swizzle_that_is_found_is_free_of_conflicts():
    assert relayout.find_swizzle(TILE.plain, ["row:8", "ldmatrix"]) == TILE
    assert relayout.find_swizzle(relayout.layout("ab", (8, 8)), ["ldmatrix"]).swizzle is None
    assert relayout.bank_conflicts(TILE.plain, "ldmatrix")["worst"]["lanes"] == list(range(8))
    with pytest.raises(relayout.ParseError):
        relayout.bank_conflicts(TILE, "diagonal")


def test_triton():
    text = "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 2]]}, alignment = 16>"
    layout = relayout.interop.from_triton(text)
    assert layout.offset(2, 1) == 11 and relayout.interop.to_triton(layout) == text == layout.as_("triton")
