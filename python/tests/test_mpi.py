"""Placements of arrays over ranks, and their redistribution by MPI, where mpi4py and mpiexec are there."""
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import relayout
from relayout.mpi import Placement, bytes_travelling

MPIEXEC = shutil.which("mpiexec")
needs_mpi = pytest.mark.skipif(MPIEXEC is None or importlib.util.find_spec("mpi4py") is None,
                               reason="no mpiexec, or no mpi4py for this Python")


def mpiexec(ranks, *arguments):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl_vader_single_copy_mechanism="none",
                       PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
    return subprocess.run([MPIEXEC, "-n", str(ranks), sys.executable, *arguments], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)


@needs_mpi
@pytest.mark.parametrize("ranks", [4, 6])
def test_random_pairs_of_placements(ranks):
    done = mpiexec(ranks, str(Path(__file__).parent / "mpi_pairs.py"), "1000")
    assert done.returncode == 0 and "all equal" in done.stdout, done.stdout[-4000:]


@needs_mpi
def test_rounds():
    done = mpiexec(4, str(Path(__file__).parent / "mpi_rounds.py"))
    assert done.returncode == 0 and "all equal" in done.stdout, done.stdout[-4000:]


def test_partition_specs():
    p = Placement.mesh((8, 6, 5), {"x": 2, "y": 3}, ["x", "y"])
    assert (p.places, p.copies, p.local_dims(0)) == (6, 1, (4, 2, 5))
    assert p.places_of((5, 4, 0)) == (5,) and p.local_index((5, 4, 0)) == (1, 0, 0)
    assert Placement.mesh((8, 6), {"x": 2, "y": 3}, [("x", "y")]).local_dims(5) == (0, 6)  # blocks of 2 of 8 rows
    assert Placement.mesh((8, 6), {"x": 2, "y": 3}, [None, "x"]).places_of((0, 4)) == (3, 4, 5)
    with pytest.raises(relayout.ParseError, match="the mesh has no axis z"):
        Placement.mesh((8,), {"x": 2, "y": 3}, ["z"])


def test_dtensor_placements():
    class Shard:
        def __init__(self, dim):
            self.dim = dim

    class Replicate:
        def is_replicate(self):
            return True

    class Partial:
        def is_replicate(self):
            return False

    p = Placement.dtensor((8, 6), (2, 3), [Shard(0), Replicate()])
    assert p == Placement.mesh((8, 6), {"x": 2, "y": 3}, ["x"]) and p.copies == 3
    # torch.chunk gives 5 rows to 4 ranks as 2, 2, 1, 0.
    assert [Placement.dtensor((5,), (4,), [0]).local_dims(r) for r in range(4)] == [(2,), (2,), (1,), (0,)]
    with pytest.raises(relayout.UnsupportedError, match="a partial sum"):
        Placement.dtensor((8,), (2,), [Partial()])
    with pytest.raises(relayout.UnsupportedError, match="does not divide by their 4 parts"):
        Placement.dtensor((9,), (2, 2), [0, 0])


def numroc(n, block, coordinate, source, count):
    """ScaLAPACK's function of this name, from its documentation."""
    distance = (count + coordinate - source) % count
    blocks = n // block
    extra = blocks % count
    return blocks // count * block + (block if distance < extra else n % block if distance == extra else 0)


def test_block_cyclic_is_scalapacks():
    for n, block, count, source in [(100, 8, 4, 0), (100, 8, 4, 3), (7, 3, 4, 1), (64, 64, 3, 0), (1, 5, 2, 1)]:
        p = Placement.block_cyclic((n,), (count,), (block,), (source,))
        assert [p.local_dims(r)[0] for r in range(count)] == [numroc(n, block, r, source, count) for r in range(count)]


def test_chunks_are_zarrs():
    p = Placement.chunks((10, 7), (4, 3))
    assert p.places == 9 and p.places_of((9, 6)) == (8,) and p.local_index((9, 6)) == (1, 0)


def test_what_travels_at_least():
    rows = Placement.mesh((12, 8), {"x": 2, "y": 2}, ["x", "y"])
    turned = Placement.mesh((12, 8), {"y": 2, "x": 2}, ["x", "y"])
    assert bytes_travelling(rows, rows, 4) == 0
    assert bytes_travelling(rows, turned, 4) == 4 * 48
    assert bytes_travelling(rows, turned, 4, relabel=True) == 0
    everywhere = Placement.mesh((12, 8), {"x": 2, "y": 2}, [])
    assert bytes_travelling(everywhere, rows, 1) == 0
    assert bytes_travelling(rows, everywhere, 1) == 4 * 96 - 96
    assert np.prod(everywhere.local_dims(3)) == 96


def test_a_rank_that_there_is_none_of():
    rows = Placement.mesh((12, 8), {"x": 2}, ["x", None])
    plan = relayout._native.RankPlan(rows._native, rows._native, 0, False)
    for rank in (-1, 2, 10**6):
        with pytest.raises(relayout.InvalidArgumentError, match=f"rank {rank} of 2"):
            plan.sent_to(rank, 5)
        with pytest.raises(relayout.InvalidArgumentError, match=f"rank {rank} of 2"):
            plan.received_from(rank, 5)
