"""relayout.Placement: which ranks, chunks or files hold an element of an array, and at which index there."""
from __future__ import annotations

from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _native
from ._errors import InvalidArgumentError

__all__ = ["Placement", "PlacementDifference"]

AxisNames = Union[None, str, Sequence[str]]


class PlacementDifference(NamedTuple):
    """Where two placements first differ: an index, the first place of it in each, and its index there."""

    at: Tuple[int, ...]
    places: Tuple[int, int]
    local_indices: Tuple[Tuple[int, ...], Tuple[int, ...]]


class Placement:
    """Which ranks, chunks or files hold an element of an array of `dims`, and at which index there.

        >>> import relayout
        >>> p = relayout.Placement.parse("jax:P('x',None) mesh(x=4,y=2)", (100, 30))
        >>> p.name(6), p.local_dims(6), p.places_of((77, 3)), p.local_index((77, 3))
        ('rank 6 (x=3, y=0)', (25, 30), (6, 7), (2, 3))
        >>> p.text("dtensor")
        'dtensor:[Shard(0),Replicate()] mesh(x=4,y=2)'
    """

    def __init__(self, native: _native.Placement, text: Optional[_native.PlacementText] = None) -> None:
        self._native = native
        self._text = text

    @classmethod
    def parse(cls, text: str, dims: Optional[Sequence[int]] = None) -> "Placement":
        """What a text of JAX, DTensor, ScaLAPACK, zarr or HDF5 means for an array, or one of digits, "places:"
        (docs/placements.md). dims may be left out where the text fixes them.
        Errors: ParseError, InvalidArgumentError (other dims), UnsupportedError (a partial sum)."""
        parsed = _native.PlacementText(text)
        given = parsed.dims if dims is None else dims
        if given is None:
            raise InvalidArgumentError(f"{text} does not fix its dims", "dims")
        return cls(parsed.bind(given), parsed)

    @classmethod
    def mesh(cls, dims: Sequence[int], mesh: Mapping[str, int], spec: Sequence[AxisNames]) -> "Placement":
        """As JAX's NamedSharding(mesh, PartitionSpec(*spec)): for each dim the axis of the mesh that it goes over,
        several axes (the first one outermost), or None. Ranks are the mesh in row-major order; axes that no dim names
        hold copies. Each rank has one block, the last ones less where the dim does not divide. Missing entries are
        None."""
        entries = ",".join("None" if entry is None or entry == () else _quoted(entry) if isinstance(entry, str)
                           else "(" + ",".join(map(_quoted, entry)) + ")" for entry in spec)
        axes = ",".join(f"{_quoted(name)}={int(extent)}" for name, extent in dict(mesh).items())
        return cls.parse(f"jax:P({entries}) mesh({axes})", dims)

    @classmethod
    def dtensor(cls, dims: Sequence[int], mesh: Sequence[int], placements: Sequence[Any]) -> "Placement":
        """As PyTorch's DTensor: for each dim of the device mesh Shard(d), or the number d, or Replicate(), or None. A
        dim that several mesh dims shard must divide by them, as DTensor cuts the rest of each shard anew."""
        cuts = ",".join(_cut_text(placement, len(dims)) for placement in placements)
        return cls.parse(f"dtensor:[{cuts}] mesh({','.join(str(int(extent)) for extent in mesh)})", dims)

    @classmethod
    def block_cyclic(cls, dims: Sequence[int], grid: Sequence[int], blocks: Sequence[int],
                     source: Optional[Sequence[int]] = None) -> "Placement":
        """As ScaLAPACK's descriptors: dim d goes in blocks of blocks[d] round over grid[d] ranks, from coordinate
        source[d] (RSRC, CSRC) on. Ranks are the grid in row-major order (BLACS' "Row"). Any number of dims."""
        if not len(dims) == len(grid) == len(blocks):
            raise InvalidArgumentError(f"{len(dims)} dims, a grid of {len(grid)} and {len(blocks)} blocks", "grid")
        first = [0] * len(dims) if source is None else list(source)
        of_dims = [(blocks[d], [(grid[d], _product(grid[d + 1:]))], first[d]) for d in range(len(dims))]
        return cls(_native.Placement.of(dims, _product(grid), of_dims))

    @classmethod
    def chunks(cls, dims: Sequence[int], chunk: Sequence[int]) -> "Placement":
        """As zarr's regular chunk grid: a place is a chunk, numbered in row-major order."""
        return cls.parse(f"zarr:chunks=({','.join(str(int(extent)) for extent in chunk)})", dims)

    @property
    def dims(self) -> Tuple[int, ...]:
        return tuple(self._native.dims)

    @property
    def places(self) -> int:
        """How many ranks, chunks or files there are."""
        return self._native.places

    @property
    def copies(self) -> int:
        """How many ranks hold each element."""
        return self._native.copies

    def name(self, place: int) -> str:
        """What a place is called: "rank 6 (x=3, y=0)", "chunk c/0/3"; "place 6" where no text says it."""
        if not 0 <= place < self.places:
            raise InvalidArgumentError(f"place {place} of {self.places}", "place", str(place))
        return f"place {place}" if self._text is None else self._text.name_of(self._native, place)

    def text(self, system: str = "places") -> str:
        """The placement in the words of a system: "dtensor", "hdf5", "jax", "places", "scalapack" or "zarr".
        Errors: UnsupportedError (why the system cannot say it), InvalidArgumentError (another name)."""
        return _native.placement_spelling(system, self._native, self._text)

    def local_dims(self, place: int) -> Tuple[int, ...]:
        """The shape of what a rank holds; 0 where blocks do not reach it."""
        return tuple(self._native.local_dims(place))

    def places_of(self, index: Sequence[int]) -> Tuple[int, ...]:
        """The ranks that hold an element, in ascending order of its copies."""
        return tuple(self._native.places_of(index))

    def local_index(self, index: Sequence[int]) -> Tuple[int, ...]:
        """Where an element lies at each of them."""
        return tuple(self._native.local_index(index))

    def global_index(self, place: int, local: Sequence[int]) -> Tuple[int, ...]:
        """The inverse: the index of the whole array that lies at this one of a rank."""
        return tuple(self._native.global_index(place, local))

    def difference(self, other: "Placement") -> Optional[PlacementDifference]:
        """Where another placement of the same dims first has an element at other places or another index there; None
        where nowhere."""
        found = _native.placement_difference(self._native, _native_of(other))
        if found is None:
            return None
        index, places, local, other_local = found
        return PlacementDifference(tuple(index), places, (tuple(local), tuple(other_local)))

    def overlap(self, place: int, other: "Placement", other_place: int) -> Tuple[int, Optional[Tuple[int, ...]]]:
        """How many elements a place has in common with a place of another placement, and the first of them."""
        elements, index = _native.placement_overlap(self._native, place, _native_of(other), other_place)
        return elements, tuple(index) if elements else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and self._native == other._native

    def __hash__(self) -> int:
        return hash((self.dims, self.places))

    def __repr__(self) -> str:
        said = self.text() if self._text is None else self._text.text
        return f"<relayout.Placement of {' x '.join(map(str, self.dims))}: {said}>"


def _native_of(other: Any) -> _native.Placement:
    if not isinstance(other, Placement):
        raise TypeError("other")
    return other._native


def _product(numbers: Any) -> int:
    out = 1
    for number in numbers:
        out *= number
    return out


def _quoted(name: Any) -> str:
    text = str(name)
    if "'" in text and '"' in text:
        raise InvalidArgumentError(f"an axis of a mesh is called {text}, with both kinds of quotes", "mesh", text)
    return f'"{text}"' if "'" in text else f"'{text}'"


def _cut_text(placement: Any, rank: int) -> str:
    """One placement of DTensor as its text says it."""
    d = placement if isinstance(placement, int) else getattr(placement, "dim", None)
    if d is None:
        whole = placement is None or getattr(placement, "is_replicate", lambda: False)()
        return "Replicate()" if whole else "Partial()"
    d = d + rank if d < 0 else d
    split = getattr(placement, "split_factor", 1)
    return f"Shard({d})" if split == 1 else f"_StridedShard({d},sf={split})"
