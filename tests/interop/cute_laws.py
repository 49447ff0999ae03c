"""The laws of CuTe's functions, each from the modes alone, and the reasons for differences on purpose, for cute.py."""
from cute_modes import Modes, flat

# --- laws, each from the modes alone ---------------------------------------------------------------------------------

def covered_modes(a):
    """The modes by stride, those of stride 0 left out, and what the ones before each cover."""
    out, covered = [], 1
    for stride, extent in sorted((s, e) for e, s in a.coalesced() if s != 0):
        out.append((extent, stride, covered))
        covered = stride * extent
    return out, covered


def overlaps(a):
    return any(stride < covered for _, stride, covered in covered_modes(a)[0])


def complement_of(a, target):
    """The complement, from its definition: what is missing before each mode, and then repetitions up to the target."""
    modes, covered = covered_modes(a)
    digits = [(stride // before, before) for _, stride, before in modes] + [(-(-target // covered), covered)]
    return Modes(tuple(d[0] for d in digits), tuple(d[1] for d in digits))


def compose_values(a, b):
    return [a.at(v) for v in b.values()]


class Broken(Exception):
    """There is no complement: some of its modes have no elements."""


def nonempty(layout):
    if layout.size() == 0:
        raise Broken
    return layout


def divide_values(a, b):
    """Tile by tile; one list a rest."""
    tile = b.values()
    return [[a.at(t + r) for t in tile] for r in nonempty(complement_of(b, a.size())).values()]


def product_values(a, b):
    block, repeat = a.values(), nonempty(complement_of(a, a.size() * b.cosize()))
    return [[v + repeat.at(i) for v in block] for i in b.values()]


def flatten(lists):
    return [v for part in lists for v in part]


def law_coalesce(r, a):
    return r.values() == a.values()


def law_compose(r, a, b):
    return r.size() == b.size() and r.values() == compose_values(a, b)


def law_complement(r, a, target):
    values, image = r.values(), set(a.values())
    return (len(values) > 0 and all(x < y for x, y in zip(values, values[1:]))
            and not any(v in image for v in values[1:]))


def law_split(values_of):
    def law(r, a, b):
        expected = flatten(values_of(a, b))
        return r.size() == len(expected) and r.values() == expected
    return law


def law_interleaved(block_first):
    """Colexicographic over the dims, in each of which the block comes first or the repetition."""
    def law(r, a, b):
        rank = max(len(a.dims()), len(b.dims()))
        one = Modes(1, 0)
        block = (a.dims() + [one] * rank)[:rank]
        repeat = nonempty(complement_of(a, a.size() * b.cosize()))
        repeats = [[repeat.at(v) for v in dim.values()] for dim in b.dims()]
        if sums(repeats) != [repeat.at(v) for v in b.values()]:
            return False  # digits of b carry into each other, so that there is no layout
        expected = [0]
        for inner, outer in zip(block, (b.dims() + [one] * rank)[:rank]):
            x = inner.values()
            y = [repeat.at(v) for v in outer.values()]
            pair = [p + q for q in y for p in x] if block_first else [p + q for p in x for q in y]
            expected = [e + p for p in pair for e in expected]
        return r.values() == expected
    return law


def parts_by_mode(a, tilers, values_of):
    """For each dim that has a tiler its tiles, one list a rest; the values of the other dims."""
    dims = a.dims()
    return [values_of(dim, tile) for dim, tile in zip(dims, tilers)], [dim.values() for dim in dims[len(tilers):]]


def sums(lists):
    """All sums of one value of each list, the first innermost."""
    out = [0]
    for values in lists:
        out = [v + w for w in values for v in out]
    return out


def law_by_mode(values_of, gathered):
    def law(r, a, *tilers):
        parts, others = parts_by_mode(a, tilers, values_of)
        # Each part must be a sum of what the tile and the rest say; else there is no layout at all.
        for part in parts:
            if any(v - tile[0] != first - part[0][0] for tile in part for v, first in zip(tile, part[0])):
                return False
        if not gathered:
            expected = sums([flatten(part) for part in parts] + others)
        else:
            tiles = [[v - part[0][0] for v in part[0]] for part in parts]
            expected = sums(tiles + [[tile[0] for tile in part] for part in parts] + others)
        return r.values() == expected
    return law


def law_compose_by_mode(r, a, *tilers):
    return r.values() == sums([compose_values(dim, tile) for dim, tile in zip(a.dims(), tilers)])


def law_right_inverse(r, a):
    return all(a.at(v) == i for i, v in enumerate(r.values()))


def law_left_inverse(r, a):
    values = a.values()
    if any(a.at(r.at(v)) != v for v in values):
        return False
    return any(s == 0 for e, s in a.digits if e > 1) or all(r.at(v) == i for i, v in enumerate(values))


# --- differences on purpose ------------------------------------------------------------------------------------------

def ties(a):
    strides = [s for e, s in a.coalesced() if s != 0]
    raw = [s for e, s in a.digits if e > 1 and s != 0]
    return len(set(strides)) < len(strides) or len(set(raw)) < len(raw)


def different_right_inverse(package, a):
    if ties(a):
        return "tie"
    return "ends" if package == "pycute" and skips(a) else None


def skips(a):
    """Whether a mode continues what is covered behind one that does not."""
    covered, skipped = 1, False
    for stride, extent in sorted((s, e) for e, s in a.digits if e > 1):
        if stride != covered:
            skipped = True
        elif skipped:
            return True
        else:
            covered = stride * extent
    return False


def overlapping_tiler(a, *tilers):
    return "overlap" if any(overlaps(b) for b in tilers) else None


def overlapping_block(a, b):
    return "overlap" if overlaps(a) else None


def overlapping_blocks(a, *tilers):
    return "overlap" if any(overlaps(dim) for dim in a.dims()[:len(tilers)]) else None


def several_dims(package, a, *tilers):
    """tensor-layouts leaves out the parentheses of a tuple of one."""
    return package == "pycute" or len(a.dims()) > 1


def several_tilers(package, a, *tilers):
    return package == "pycute" or len(tilers) > 1


def not_nested(a):
    modes = sorted((s, e) for e, s in a.coalesced() if s != 0)
    return any(y % x or y // x < n for (x, n), (y, _) in zip(modes, modes[1:]))
