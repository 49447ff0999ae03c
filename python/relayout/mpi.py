"""Arrays whose elements lie in the memories of several processes, moved from one placement to another by MPI.

    import numpy, relayout.mpi as rmpi
    src = rmpi.Placement.mesh((1000, 600), {"x": 2, "y": 3}, ["x", "y"])       # blocks of rows and of columns
    dst = rmpi.Placement.block_cyclic((1000, 600), (2, 3), (64, 64))           # what ScaLAPACK works on
    local = numpy.zeros(src.local_dims(rank))
    out = rmpi.redistribute(local, src, dst)                                   # by mpi4py's COMM_WORLD

A placement says for each dim in which blocks it goes over which ranks; what no dim goes over holds copies. Every rank
packs what it sends by this library's reorders and unpacks what it gets; nothing is sent that a rank has already. mpi4py
is imported when redistribute() is called.
"""
from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from . import _native
from ._errors import InvalidArgumentError, UnsupportedError

__all__ = ["Placement", "bytes_travelling", "redistribute"]

AxisNames = Union[None, str, Sequence[str]]


class Placement:
    """Which ranks hold an element of an array of `dims`, and at which index there."""

    def __init__(self, native: _native.Placement) -> None:
        self._native = native

    @classmethod
    def mesh(cls, dims: Sequence[int], mesh: Mapping[str, int], spec: Sequence[AxisNames]) -> "Placement":
        """As JAX's NamedSharding(mesh, PartitionSpec(*spec)): for each dim the axis of the mesh that it goes over,
        several axes (the first one outermost), or None. Ranks are the mesh in row-major order; axes that no dim names
        hold copies. Each rank has one block, the last ones less where the dim does not divide. Missing entries are
        None."""
        names = list(mesh)
        strides = {name: _product(mesh[other] for other in names[at + 1:]) for at, name in enumerate(names)}
        of_dims = []
        entries = list(spec) + [None] * (len(dims) - len(spec))
        if len(entries) != len(dims):
            raise InvalidArgumentError(f"spec has {len(spec)} entries, and the array {len(dims)} dims", "spec")
        for dim, entry in zip(dims, entries):
            axes = [] if entry is None else [entry] if isinstance(entry, str) else list(entry)
            for axis in axes:
                if axis not in mesh:
                    raise InvalidArgumentError(f"the mesh has no axis {axis!r}; it has {', '.join(names)}", "spec",
                                               axis)
            digits = [(mesh[axis], strides[axis]) for axis in reversed(axes)]
            count = _product(extent for extent, _ in digits)
            of_dims.append((max(1, -(-dim // count)), digits, 0))
        return cls(_native.Placement.of(dims, _product(mesh.values()), of_dims))

    @classmethod
    def dtensor(cls, dims: Sequence[int], mesh: Sequence[int], placements: Sequence[Any]) -> "Placement":
        """As PyTorch's DTensor: for each dim of the device mesh Shard(d), or the number d, or Replicate(), or None. A
        dim that is sharded by two mesh dims must divide by the first, as DTensor cuts the rest of each shard anew."""
        if len(placements) != len(mesh):
            raise InvalidArgumentError(f"{len(placements)} placements for a mesh of {len(mesh)} dims", "placements")
        digits: list = [[] for _ in dims]
        for at, placement in enumerate(placements):
            d = placement if isinstance(placement, int) else getattr(placement, "dim", None)
            if d is None:
                if placement is not None and not getattr(placement, "is_replicate", lambda: False)():
                    raise UnsupportedError(f"placement {placement!r}: a partial sum is no placement of elements",
                                           "placements")
                continue
            digits[d].insert(0, (mesh[at], _product(mesh[at + 1:])))
        of_dims = []
        for dim, places in zip(dims, digits):
            outer = _product(extent for extent, _ in places[1:])
            if dim % outer:
                raise UnsupportedError(f"a dim of {dim} is sharded twice and does not divide by {outer}: its shards "
                                       f"would be cut at different places", "placements")
            of_dims.append((max(1, -(-dim // _product(extent for extent, _ in places))), places, 0))
        return cls(_native.Placement.of(dims, _product(mesh), of_dims))

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
        return cls(_native.Placement.chunks(dims, chunk))

    @property
    def dims(self) -> Tuple[int, ...]:
        return tuple(self._native.dims)

    @property
    def places(self) -> int:
        """How many ranks, or chunks, there are."""
        return self._native.places

    @property
    def copies(self) -> int:
        """How many ranks hold each element."""
        return self._native.copies

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and self._native == other._native

    def __hash__(self) -> int:
        return hash((self.dims, self.places))

    def __repr__(self) -> str:
        dims = "; ".join(f"{dim} in blocks of {block}" + (f" over {_product(e for e, _ in digits)}" if digits else "")
                         for dim, (block, digits, _) in zip(self.dims, self._native.of_dims))
        return f"<relayout.mpi.Placement of {self.places} places: {dims}; {self.copies} copies>"


def _product(numbers: Any) -> int:
    out = 1
    for number in numbers:
        out *= number
    return out


def bytes_travelling(src: Placement, dst: Placement, item_bytes: int, relabel: bool = False) -> int:
    """How many bytes go from one rank to another one. No way to move the array sends fewer: it is what ranks need and
    do not have. relabel: with the ranks of the destination numbered anew, so that the fewest travel."""
    exchange = _native.Exchange(src._native, dst._native)
    if relabel:
        exchange = exchange.with_ranks(exchange.relabelled())
    return item_bytes * exchange.elements_travelling


def redistribute(local: Any, src: Placement, dst: Placement, *, comm: Any = None, out: Any = None,
                 max_memory: Optional[int] = None, relabel: bool = False) -> Any:
    """The part of an array that this rank has in placement `dst`, from the part that it has in placement `src`. Called
    by all ranks of the communicator, COMM_WORLD if none is given, with the same arguments but `local` and `out`.

    local: an array of shape src.local_dims(rank), of any strides; elements of 1, 2, 4 or 8 bytes. out: the array to
    write, of shape dst.local_dims(rank) (with relabel: of the place that this rank gets); a new row-major NumPy array
    if none is given. max_memory: the most bytes of buffers at a time; None packs all and calls Alltoallv once, a bound
    goes from partner to partner. relabel: the ranks of the destination are numbered anew, so that the fewest bytes
    travel; then the result is a pair, with the place of `dst` that this rank has now.
    Errors: InvalidArgumentError (another number of ranks or shape), UnsupportedError (elements of other sizes).
    """
    import numpy
    from mpi4py import MPI
    comm = MPI.COMM_WORLD if comm is None else comm
    rank, size = comm.Get_rank(), comm.Get_size()
    if size != src.places:
        raise InvalidArgumentError(f"the communicator has {size} ranks, and the placements {src.places}", "comm",
                                   str(size))
    exchange = _native.Exchange(src._native, dst._native)
    rank_of = exchange.relabelled() if relabel else list(range(size))  # which rank gets a place of dst
    exchange = exchange.with_ranks(rank_of)
    place = rank_of.index(rank)
    if out is None:
        out = numpy.empty(dst.local_dims(place), numpy.asarray(local).dtype)
    if out.dtype != local.dtype:
        raise InvalidArgumentError(f"local has elements of {local.dtype}, out of {out.dtype}", "out", str(out.dtype))
    item = out.dtype.itemsize
    for part in exchange.parts(rank, place, 0):
        exchange.keep(rank, place, part, local, out)
    if max_memory is None:
        _all_at_once(exchange, comm, rank, place, rank_of, local, out, item)
    else:
        if max_memory < 2 * item:
            raise InvalidArgumentError(f"max_memory is {max_memory}; two elements take {2 * item}", "max_memory")
        _by_rounds(exchange, comm, rank, place, rank_of, local, out, item, max_memory)
    return (out, place) if relabel else out


def _all_at_once(exchange: _native.Exchange, comm: Any, rank: int, place: int, rank_of: Sequence[int], local: Any,
                 out: Any, item: int) -> None:
    import numpy
    size = len(rank_of)
    place_of = {r: p for p, r in enumerate(rank_of)}
    sent, received = [0] * size, [0] * size
    for to, count in exchange.sent_by(rank):
        if to != place:
            sent[rank_of[to]] = count * item
    for source, count in exchange.received_by(place):
        if source != rank:
            received[source] = count * item
    if max(sum(sent), sum(received)) >= 1 << 31:  # counts of MPI have 31 bits
        raise InvalidArgumentError("a rank sends or receives 2 GiB or more; give max_memory, which goes by rounds",
                                   "max_memory")
    packed, arrived = numpy.empty(sum(sent), numpy.uint8), numpy.empty(sum(received), numpy.uint8)
    at = 0
    for other in range(size):
        if sent[other]:
            for part in exchange.parts(rank, place_of[other], 0):
                exchange.pack(rank, part, local, packed, at)
                at += part.elements * item
    comm.Alltoallv([packed, sent], [arrived, received])
    at = 0
    for other in range(size):
        if received[other]:
            for part in exchange.parts(other, place, 0):
                exchange.unpack(place, part, arrived, at, out)
                at += part.elements * item


def _by_rounds(exchange: _native.Exchange, comm: Any, rank: int, place: int, rank_of: Sequence[int], local: Any,
               out: Any, item: int, max_memory: int) -> None:
    import numpy
    size = len(rank_of)
    place_of = {r: p for p, r in enumerate(rank_of)}
    most = max(1, max_memory // (2 * item))  # one buffer to send and one to receive
    packed, arrived = numpy.empty(most * item, numpy.uint8), numpy.empty(most * item, numpy.uint8)
    for step in range(1, size):
        to, source = (rank + step) % size, (rank - step) % size
        there = _buffers(exchange.parts(rank, place_of[to], most), most)
        here = _buffers(exchange.parts(source, place, most), most)
        for at in range(max(len(there), len(here))):
            send = receive = 0
            for part in there[at] if at < len(there) else ():
                exchange.pack(rank, part, local, packed, send)
                send += part.elements * item
            if at < len(here):
                receive = sum(part.elements for part in here[at]) * item
            requests = []
            if receive:
                requests.append(comm.Irecv(arrived[:receive], source, at))
            if send:
                requests.append(comm.Isend(packed[:send], to, at))
            for request in requests:
                request.Wait()
            begin = 0
            for part in here[at] if receive else ():
                exchange.unpack(place, part, arrived, begin, out)
                begin += part.elements * item


def _buffers(parts: Sequence[_native.ExchangePart], most: int) -> List[List[_native.ExchangePart]]:
    """Parts that follow each other, as many together as a buffer holds; sender and receiver divide them alike."""
    out: List[List[_native.ExchangePart]] = []
    room = 0
    for part in parts:
        if part.elements > room:
            out.append([])
            room = most
        out[-1].append(part)
        room -= part.elements
    return out
