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

from typing import Any, Optional

from . import _native
from ._errors import InvalidArgumentError
from ._placement import Placement

__all__ = ["Placement", "bytes_travelling", "redistribute"]

#: Of buffers that stay in the cache of a processor, as in relayout/redistribute/mpi.h.
_BUFFERS = 8 << 20
#: What one message may have: counts of MPI have 31 bits.
_LARGEST = (1 << 31) - 1


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
    if none is given. max_memory: the most bytes of buffers at a time, which go from partner to partner; None is 8 MiB
    where any rank has more than that to send or to receive, and else packs all and calls Alltoallv once. relabel:
    the ranks of the destination are numbered anew, so that the fewest bytes travel; then the result is a pair, with the
    place of `dst` that this rank has now.
    Errors: InvalidArgumentError (another number of ranks or shape), UnsupportedError (elements of other sizes).
    """
    import numpy
    from mpi4py import MPI
    comm = MPI.COMM_WORLD if comm is None else comm
    rank, size = comm.Get_rank(), comm.Get_size()
    if size != src.places:
        raise InvalidArgumentError(f"the communicator has {size} ranks, and the placements {src.places}", "comm",
                                   str(size))
    plan = _native.RankPlan(src._native, dst._native, rank, relabel)
    if out is None:
        out = numpy.empty(dst.local_dims(plan.place), numpy.asarray(local).dtype)
    if out.dtype != local.dtype:
        raise InvalidArgumentError(f"local has elements of {local.dtype}, out of {out.dtype}", "out", str(out.dtype))
    item = out.dtype.itemsize
    plan.keep(local, out)
    if max_memory is not None and max_memory < 2 * item:
        raise InvalidArgumentError(f"max_memory is {max_memory}; two elements take {2 * item}", "max_memory")
    if max_memory is None:
        own = max(sum(buffer.elements for buffer in side) for side in (plan.sent(), plan.received()))
        if comm.allreduce(own * item, MPI.MAX) > _BUFFERS:  # all ranks must go the same way
            max_memory = _BUFFERS
    if max_memory is None:
        _all_at_once(plan, comm, size, local, out, item)
    else:
        _by_rounds(plan, comm, rank, size, local, out, item, max_memory)
    return (out, plan.place) if relabel else out


def _all_at_once(plan: _native.RankPlan, comm: Any, size: int, local: Any, out: Any, item: int) -> None:
    import numpy
    sent, received = [0] * size, [0] * size
    for buffer in plan.sent():
        sent[buffer.rank] = buffer.elements * item
    for buffer in plan.received():
        received[buffer.rank] = buffer.elements * item
    packed, arrived = numpy.empty(sum(sent), numpy.uint8), numpy.empty(sum(received), numpy.uint8)
    at = 0
    for buffer in plan.sent():
        plan.pack(buffer, local, packed[at:])
        at += buffer.elements * item
    comm.Alltoallv([packed, sent], [arrived, received])
    at = 0
    for buffer in plan.received():
        plan.unpack(buffer, arrived[at:], out)
        at += buffer.elements * item


def _by_rounds(plan: _native.RankPlan, comm: Any, rank: int, size: int, local: Any, out: Any, item: int,
               max_memory: int) -> None:
    import numpy
    most = max(1, min(max_memory // 2, _LARGEST) // item)  # one buffer to send and one to receive
    packed = arrived = numpy.empty(0, numpy.uint8)
    for step in range(1, size):
        to, source = (rank + step) % size, (rank - step) % size
        there, here = plan.sent_to(to, most), plan.received_from(source, most)
        largest = [item * max((buffer.elements for buffer in side), default=0) for side in (there, here)]
        if largest[0] > packed.size:
            packed = numpy.empty(largest[0], numpy.uint8)
        if largest[1] > arrived.size:
            arrived = numpy.empty(largest[1], numpy.uint8)
        for at in range(max(len(there), len(here))):
            requests = []
            if at < len(there):
                plan.pack(there[at], local, packed)  # which may fail, and then nothing is under way
            if at < len(here):
                requests.append(comm.Irecv(arrived[:here[at].elements * item], source, at))
            if at < len(there):
                requests.append(comm.Isend(packed[:there[at].elements * item], to, at))
            for request in requests:
                request.Wait()
            if at < len(here):
                plan.unpack(here[at], arrived, out)
