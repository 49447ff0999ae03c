"""Run by mpiexec: random pairs of placements, each against an array that every rank makes by itself.

    mpiexec -n 4 python mpi_pairs.py PAIRS
"""
import random
import sys

import numpy
from mpi4py import MPI

from relayout import mpi

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
MESHES = {4: [(4,), (2, 2)], 6: [(6,), (2, 3), (3, 2)]}[size]


def drawn(rng, dims):
    mesh = rng.choice(MESHES)
    kind = rng.choice(["mesh", "dtensor", "cyclic"])
    if kind == "mesh":
        names = "xy"[:len(mesh)]
        spec = [None] * len(dims)
        for name in names:
            d = rng.randrange(len(dims) + 1)
            if d < len(dims):
                spec[d] = name if spec[d] is None else (*spec[d], name)
        return mpi.Placement.mesh(dims, dict(zip(names, mesh)), spec)
    if kind == "dtensor":
        axes = rng.sample(range(len(dims)), min(len(mesh), len(dims)))
        return mpi.Placement.dtensor(dims, mesh, [axes[i] if i < len(axes) and rng.random() < 0.8 else None
                                                  for i in range(len(mesh))])
    grid = list(mesh) + [1] * len(dims)
    grid = [size] + [1] * (len(dims) - 1) if len(mesh) > len(dims) else grid[:len(dims)]
    return mpi.Placement.block_cyclic(dims, grid, [rng.randint(1, 5) for _ in dims], [rng.randrange(g) for g in grid])


def part_of(whole, placement, place):
    """By one index at a time."""
    local = numpy.empty(placement.local_dims(place), whole.dtype)
    for index in numpy.ndindex(*local.shape):
        local[index] = whole[placement.global_index(place, index)]
    return local


def main():
    rng = random.Random(7)
    for trial in range(int(sys.argv[1])):
        dims = tuple(rng.randint(1, 11) for _ in range(rng.randint(1, 3)))
        src, dst = drawn(rng, dims), drawn(rng, dims)
        dtype = rng.choice([numpy.uint8, numpy.float16, numpy.float32, numpy.int64])
        whole = (numpy.arange(int(numpy.prod(dims))) % 251).reshape(dims).astype(dtype)
        local = part_of(whole, src, rank)
        if rng.random() < 0.3:
            local = numpy.asfortranarray(local)
        memory = rng.choice([None, 64, 4096])
        relabel = rng.random() < 0.3
        got = mpi.redistribute(local, src, dst, max_memory=memory, relabel=relabel)
        place = rank
        if relabel:
            got, place = got
            assert mpi.bytes_travelling(src, dst, 1, True) <= mpi.bytes_travelling(src, dst, 1)
        expected = part_of(whole, dst, place)
        assert got.dtype == dtype and numpy.array_equal(got, expected), (trial, src, dst, rank)
    places = comm.gather(place, 0)
    if rank == 0:
        assert sorted(places) == list(range(size))
        print("all equal")


main()
