"""The variants: the ways in which an array may lie in memory, each one function in the list `VARIANTS`.

A variant takes the shape, the size of an element in bytes and a source of random numbers, and yields recipes, the
simplest first. What a framework cannot have (PyTorch has no negative strides) is left out by `frameworks`, so a variant
need not know about it. To add one, write the function and put it into the list.

Example: `list(sliced((2, 3), 4, random.Random(0)))` has `base[::2]` with an offset, `base[:, ::2]`, and more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from random import Random

from .recipe import Ints, Recipe, channels_last_order

Variant = Callable[[Ints, int, Random], Iterator[Recipe]]

_MOST_PERMUTATIONS = 23  # all of rank 4; of higher ranks a sample


def permuted(shape: Ints, itemsize: int, random: Random) -> Iterator[Recipe]:
    """The dims lie in memory in another order, as after a transposition."""
    rank = len(shape)
    plain = Recipe.plain(rank)
    if rank <= 4:
        orders = list(itertools.permutations(range(rank)))
    else:
        first = list(range(rank))
        orders = [tuple(reversed(first))]
        for i in range(rank - 1):  # every exchange of neighbours
            orders.append((*first[:i], i + 1, i, *first[i + 2 :]))
        orders += [tuple(random.sample(first, rank)) for _ in range(_MOST_PERMUTATIONS - len(orders))]
    identity = tuple(range(rank))
    seen = {identity}
    for order in sorted(orders, key=lambda order: sum(a != b for a, b in zip(order, identity, strict=True))):
        if order not in seen:
            seen.add(order)
            yield plain.but(order=order)


def channels_last(shape: Ints, itemsize: int, random: Random) -> Iterator[Recipe]:
    """Dim 1 is innermost, as in PyTorch's memory formats; also with gaps, which the strides show but hardly."""
    rank = len(shape)
    if rank < 3:
        return
    dense = Recipe.plain(rank).but(order=channels_last_order(rank))
    zeros, ones = (0,) * rank, (1,) * rank
    yield dense
    yield dense.but(pads=(0, 3, *zeros[2:]))  # a slice of the channels of a wider tensor
    yield dense.but(steps=(1, 1, 2, *ones[3:]))


def offset(shape: Ints, itemsize: int, random: Random) -> Iterator[Recipe]:
    """Contiguous, but not from the start of the buffer."""
    yield Recipe.plain(len(shape)).but(offset=3)


def sliced(shape: Ints, itemsize: int, random: Random) -> Iterator[Recipe]:
    """Every second or third position along a dim, with and without an offset."""
    rank = len(shape)
    plain = Recipe.plain(rank)
    for d in reversed(range(rank)):
        for step, start in ((2, 0), (2, 1), (3, 2)):
            yield plain.but(steps=tuple(step if k == d else 1 for k in range(rank)), offset=start)
    if rank > 1:
        yield plain.but(steps=(2,) * rank, offset=1)
        yield plain.but(order=tuple(reversed(range(rank))), steps=(2,) * rank, offset=1)


def padded(shape: Ints, itemsize: int, random: Random) -> Iterator[Recipe]:
    """Rows that are longer in memory than the array, as left by a crop or by an aligned row pitch."""
    rank = len(shape)
    plain = Recipe.plain(rank)
    for d in reversed(range(1, rank)):
        yield plain.but(pads=tuple(3 if k == d else 0 for k in range(rank)))
    if rank > 2:
        yield plain.but(pads=(0, *(2,) * (rank - 1)), offset=2)


def broadcast(shape: Ints, itemsize: int, random: Random) -> Iterator[Recipe]:
    """Stride 0: all positions along a dim are one element. The values are made equal for both runs."""
    rank = len(shape)
    plain = Recipe.plain(rank)
    wide = [d for d in range(rank) if shape[d] > 1]
    for d in wide:
        yield plain.but(steps=tuple(0 if k == d else 1 for k in range(rank)))
    if len(wide) > 1:
        yield plain.but(steps=tuple(0 if k in wide else 1 for k in range(rank)))


def size1(shape: Ints, itemsize: int, random: Random) -> Iterator[Recipe]:
    """Odd strides of dims of extent 1, which address nothing but mislead checks for contiguity."""
    rank = len(shape)
    plain = Recipe.plain(rank)
    narrow = [d for d in range(rank) if shape[d] == 1]
    for d in narrow:
        for stride in (7, 1, 1021):
            yield plain.but(loose=tuple(stride if k == d else 0 for k in range(rank)))
    if len(narrow) > 1:
        yield plain.but(loose=tuple(7 + 4 * d if d in narrow else 0 for d in range(rank)))


def negative(shape: Ints, itemsize: int, random: Random) -> Iterator[Recipe]:
    """Negative strides, as after `x[::-1]`."""
    rank = len(shape)
    plain = Recipe.plain(rank)
    for d in reversed(range(rank)):
        if shape[d] > 1:
            yield plain.but(steps=tuple(-1 if k == d else 1 for k in range(rank)))
            yield plain.but(steps=tuple(-2 if k == d else 1 for k in range(rank)), offset=1)
    if rank > 1:
        yield plain.but(steps=(-1,) * rank)


def misaligned(shape: Ints, itemsize: int, random: Random) -> Iterator[Recipe]:
    """Addresses that vector instructions, or even loads of one element, are not made for."""
    plain = Recipe.plain(len(shape))
    front = -(-64 // itemsize)
    yield plain.but(offset=front + 1)  # whole elements, but not whole vectors
    for part in (front // 2, front // 4):  # a multiple of 32 or 16 bytes and of nothing more
        if part > 1:
            yield plain.but(offset=front + part)
    if itemsize > 1:
        yield plain.but(offset=front, skew=1)
    if itemsize > 2:
        yield plain.but(offset=front, skew=itemsize // 2)


def foreign(shape: Ints, itemsize: int, random: Random) -> Iterator[Recipe]:
    """Memory of another owner: for NumPy read-only, as from `np.frombuffer`; for PyTorch from `torch.from_numpy`."""
    plain = Recipe.plain(len(shape))
    yield plain.but(foreign=True)
    if len(shape) > 1:
        yield plain.but(foreign=True, order=tuple(reversed(range(len(shape)))))


def far(shape: Ints, itemsize: int, random: Random) -> Iterator[Recipe]:
    """Offsets beyond 2^31 elements, in memory that is reserved but not touched. Only where it is asked for by name."""
    if shape and shape[0] > 1:
        yield Recipe.plain(len(shape)).but(far=True)


VARIANTS: dict[str, Variant] = {
    "permuted": permuted,
    "channels_last": channels_last,
    "offset": offset,
    "sliced": sliced,
    "padded": padded,
    "broadcast": broadcast,
    "size1": size1,
    "negative": negative,
    "misaligned": misaligned,
    "foreign": foreign,
    "far": far,
}

ALL: tuple[str, ...] = tuple(name for name in VARIANTS if name != "far")
"""What `layouts="all"` stands for; `[*ALL, "far"]` adds the variant that needs gigabytes of address space."""


def chosen(layouts: str | list[str] | tuple[str, ...]) -> list[str]:
    """The names that the caller chose, checked."""
    names = list(ALL) if layouts == "all" else [layouts] if isinstance(layouts, str) else list(layouts)
    unknown = [name for name in names if name not in VARIANTS]
    if unknown:
        raise ValueError(f"layouts: {unknown} unknown; known are 'all' and {list(VARIANTS)}")
    return names


def recipes(names: list[str], shape: Ints, itemsize: int, random: Random) -> Iterator[tuple[str, Recipe]]:
    """All recipes of these variants for one shape, each recipe once."""
    if 0 in shape:
        return  # nothing is read
    seen: set[Recipe] = {Recipe.plain(len(shape))}
    for name in names:
        for recipe in VARIANTS[name](shape, itemsize, random):
            if recipe not in seen:
                seen.add(recipe)
                yield name, recipe
