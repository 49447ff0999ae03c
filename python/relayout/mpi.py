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

from typing import Any, List, Optional, Sequence

from . import _native
from ._errors import InvalidArgumentError
from ._placement import Placement

__all__ = ["Placement", "bytes_travelling", "redistribute"]


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
