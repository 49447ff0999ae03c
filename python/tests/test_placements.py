"""relayout.Placement: texts of other systems, and what JAX and PyTorch themselves make of them."""
import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import relayout
from relayout import Placement

# Run with 8 devices of the CPU: what JAX says of each device's indices, and what its shardings print.
JAX = """
import itertools, json, jax, numpy
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
out = []
for shape in [(4, 2), (2, 4), (8, 1), (2, 2, 2)]:
    names = "xyz"[:len(shape)]
    mesh = Mesh(numpy.array(jax.devices()).reshape(shape), tuple(names))
    entries = [None, *names, *itertools.permutations(names, 2)]
    for a, b in itertools.product(entries, entries):
        if set(a or ()) & set(b or ()):
            continue
        sharding = NamedSharding(mesh, P(a, b))
        where = sharding.devices_indices_map((16, 24))
        out.append([repr(sharding), [[list(s.indices(n)[:2]) for s, n in zip(where[d], (16, 24))]
                                     for d in jax.devices()]])
print(json.dumps(out))
"""


def test_what_jax_gives_each_device():
    pytest.importorskip("jax")
    done = subprocess.run([sys.executable, "-c", JAX], capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, XLA_FLAGS="--xla_force_host_platform_device_count=8",
                                   JAX_PLATFORMS="cpu"))
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout)
    assert len(said) > 50
    for printed, ranges in said:
        p = Placement.parse("jax:" + printed, (16, 24))
        for device, ((from_a, to_a), (from_b, to_b)) in enumerate(ranges):
            assert p.local_dims(device) == (to_a - from_a, to_b - from_b), printed
            assert p.global_index(device, (0, 0)) == (from_a, from_b), printed
        assert Placement.parse(p.text("jax"), (16, 24)) == p


def test_shards_are_torch_chunks():
    torch = pytest.importorskip("torch")
    for extent, (outer, inner) in itertools.product([1, 5, 6, 7, 12], [(3, 2), (2, 3), (4, 1)]):
        x = torch.arange(extent)
        chunks = list(torch.chunk(x, outer)) + [x[:0]] * outer
        p = Placement.dtensor((extent,), (outer, inner), [0, None])
        for rank in range(outer * inner):
            expected = chunks[rank // inner].tolist()
            assert [p.global_index(rank, (i,))[0] for i in range(p.local_dims(rank)[0])] == expected


def test_texts_there_and_back():
    p = Placement.parse("dtensor:[Shard(0),Shard(1)] mesh(dp=2,tp=3)", (8, 9))
    assert p == Placement.dtensor((8, 9), (2, 3), [0, 1]) == Placement.mesh((8, 9), {"dp": 2, "tp": 3}, ["dp", "tp"])
    assert p.text("jax") == "jax:P('dp','tp') mesh(dp=2,tp=3)"
    assert p.text("scalapack") == "scalapack:m=8,n=9,mb=4,nb=3,p=2,q=3"
    assert p.text("zarr") == "zarr:chunks=(4,3)" and p.text() == "places:(4)(2,@3)|(3)(3,@1)"
    assert p.name(4) == "rank 4 (dp=1, tp=1)" and repr(p) == f"<relayout.Placement of 8 x 9: {p._text.text}>"
    assert Placement.parse("scalapack:m=8,n=9,mb=2,nb=2,p=2,q=2").dims == (8, 9)
    with pytest.raises(relayout.UnsupportedError, match="JAX gives each place one block"):
        Placement.block_cyclic((8, 9), (2, 1), (2, 9)).text("jax")
    with pytest.raises(relayout.InvalidArgumentError, match="does not fix its dims"):
        Placement.parse("zarr:chunks=(2,2)")
    with pytest.raises(relayout.InvalidArgumentError, match="there are dtensor, hdf5"):
        p.text("jaxx")


def test_strange_names_of_axes():
    p = Placement.mesh((8,), {"it's": 2, 'a "b"': 2}, [("it's", 'a "b"')])
    assert p.name(3) == 'rank 3 (it\'s=1, a "b"=1)' and Placement.parse(p.text("jax"), (8,)) == p


def test_differences_and_overlaps():
    a, b = Placement.chunks((10, 6), (5, 3)), Placement.mesh((10, 6), {"x": 2, "y": 2}, ["y", "x"])
    assert a.difference(a) is None
    assert a.difference(b) == ((0, 3), (1, 2), ((0, 0), (0, 0)))
    held = [np.zeros((10, 6), bool) for _ in range(4)]
    for index in np.ndindex(10, 6):
        held[a.places_of(index)[0]][index] = True
    for place, other in itertools.product(range(4), range(4)):
        both = [index for index in np.ndindex(10, 6) if held[place][index] and other in b.places_of(index)]
        assert a.overlap(place, b, other) == (len(both), both[0] if both else None)


def test_a_mesh_in_the_words_of_cute():
    """DeviceMesh keeps its ranks as a layout of CuTe; the same text is a layout here."""
    mesh = relayout.layout("cute:(4,2):(1,4)")
    p = Placement.parse("dtensor:[Shard(0),Shard(1)] mesh(4,2):(1,4)", (8, 8))
    for i, j in np.ndindex(4, 2):
        assert p.places_of((2 * i, 4 * j)) == (mesh.offset((i, j)),)
