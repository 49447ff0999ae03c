"""Which extents of a call belong together, so that a smaller case is still one that the function is meant for.

Example: `ties([(1, 4, 6), (1, 5, 6)], ["q", "k"])` has (q, dim 1) alone, (k, dim 1) alone, and both dims 2 together: an
attention whose q and k differ in their last extent would read past the end of one of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from .recipe import Ints

Tie = list[tuple[int, int]]  # argument, dim


def ties(shapes: Sequence[Ints], names: Sequence[str], letters: str | Sequence[str] | None = None) -> list[Tie]:
    """The dims that change together when a case is cut, the largest extents first.

    Without letters these are the dims of equal extents. Letters name each array's dims, as in an einsum ("bqd, bkd"):
    equal letters stay equal, and different ones do not, although they may be equal in the call. A dim named by a dot
    keeps its extent.
    """
    dims = [(j, d) for j, shape in enumerate(shapes) for d in range(len(shape))]
    if letters is None:
        labels: dict[tuple[int, int], object] = {(j, d): shapes[j][d] for j, d in dims}
    else:
        words = letters.replace(",", " ").split() if isinstance(letters, str) else list(letters)
        _check(words, shapes, names)
        labels = {(j, d): words[j][d] for j, d in dims}
    found: dict[object, Tie] = {}
    for dim in dims:
        found.setdefault(labels[dim], []).append(dim)
    found.pop(".", None)
    return sorted(found.values(), key=lambda tie: -shapes[tie[0][0]][tie[0][1]])


def _check(words: Sequence[str], shapes: Sequence[Ints], names: Sequence[str]) -> None:
    if len(words) != len(shapes):
        raise ValueError(f"shapes: {len(words)} of them, {list(words)}, for {len(shapes)} arrays, {list(names)}")
    extents: dict[str, int] = {}
    for word, shape, name in zip(words, shapes, names, strict=True):
        if len(word) != len(shape):
            raise ValueError(f"shapes: {word!r} names {len(word)} dims, but {name} has the shape {shape}")
        for letter, n in zip(word, shape, strict=True):
            if letter != "." and extents.setdefault(letter, n) != n:
                raise ValueError(f"shapes: {letter!r} is {extents[letter]} and, in {name} of shape {shape}, {n}")
