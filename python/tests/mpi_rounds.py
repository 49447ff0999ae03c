"""Run by mpiexec with 4 ranks: which way arrays go, and how large messages are, against arrays that ranks make by
themselves.

    mpiexec -n 4 python mpi_rounds.py
"""
import numpy
from mpi4py import MPI

from relayout import mpi

rank = MPI.COMM_WORLD.Get_rank()


class Watched:
    """A communicator that notes the bytes of its messages."""

    def __init__(self, comm):
        self.comm, self.messages, self.at_once = comm, [], 0

    def __getattr__(self, name):
        return getattr(self.comm, name)

    def Isend(self, buffer, *more):
        self.messages.append(buffer.nbytes)
        return self.comm.Isend(buffer, *more)

    def Irecv(self, buffer, *more):
        self.messages.append(buffer.nbytes)
        return self.comm.Irecv(buffer, *more)

    def Alltoallv(self, *buffers):
        self.at_once += 1
        return self.comm.Alltoallv(*buffers)


def gathered(elements, dtype, **how):
    """All of an array goes to rank 0, so that it has more to receive than any other one has to send: what each did."""
    src = mpi.Placement.block_cyclic((elements,), (4,), (elements // 4,))
    dst = mpi.Placement.block_cyclic((elements,), (4,), (elements,))
    whole = numpy.arange(elements).astype(dtype)
    watched = Watched(MPI.COMM_WORLD)
    got = mpi.redistribute(whole[rank * (elements // 4):][:elements // 4].copy(), src, dst, comm=watched, **how)
    assert numpy.array_equal(got, whole if rank == 0 else whole[:0])
    return MPI.COMM_WORLD.allgather((watched.at_once, max(watched.messages, default=0), len(watched.messages)))


def main():
    # 2 MiB a rank: all at once. 3 MiB a rank: rank 0 receives 9 MiB, and all must go by rounds.
    assert gathered(1 << 20, "i8") == [(1, 0, 0)] * 4
    by_rounds = gathered(3 << 19, "i8")
    assert [at_once for at_once, _, _ in by_rounds] == [0] * 4, by_rounds
    assert 1 << 20 < max(largest for _, largest, _ in by_rounds) <= 4 << 20, by_rounds
    # Counts have a bound, however much memory is given; the one of MPI is 2 GiB.
    mpi._LARGEST = 1001
    counted = gathered(1 << 12, "i8", max_memory=1 << 40)
    assert all(0 < largest <= 1001 for _, largest, _ in counted), counted
    if rank == 0:
        print("all equal")


main()
