"""Random tensors through files: what one program writes, the others read, bit for bit.

    python fuzz_files.py --count 200000 [--seed 1] [--command build/release/tools/relayout] [--commands 8]

Programs: NumPy with ml_dtypes, the package safetensors (where it is installed), this package, its C++ library by way of
the native module, and the command (where --command names it, as often in a batch as --commands says). Formats: npy, npz
and safetensors. Tensors: all types of relayout and others that only the file knows, both byte orders, both orders in
memory and strides, without elements, without dims, of up to 12 dims.

A round trip is equal, or equal as bits where the file does not say the type, or refused with a reason where the reader
has no such type. Everything else is printed with the seed of its batch, and the exit code is 1.
"""
from __future__ import annotations

import argparse
import collections
import os
import random
import subprocess
import sys
import tempfile
import warnings

import file_trips as trips
import ml_dtypes
import numpy as np
import relayout
from random_arrays import _filled
from relayout import _native

try:
    import safetensors
except ImportError:
    safetensors = None

TENSORS = 24
NATIVE = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
BIG = [">i2", ">i4", ">i8", ">u2", ">u4", ">u8", ">f2", ">f4", ">f8"]
SMALL = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"]
FOREIGN = ["c8", ">c16", "S3", "U2", ">U1", "M8[s]", "m8[us]", "V3", "V1", "V2", "V8", "O", [("a", "i1"), ("b", ">f4")],
           [("it's", "f8"), ("b", "<i4", (3,))]]
FOREIGN_SMALL = ["float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "int1", "float8_e3m4"]


def random_dtype(rng):
    kind = rng.random()
    if kind < 0.4:
        return np.dtype(rng.choice(NATIVE))
    if kind < 0.6:
        return np.dtype(rng.choice(BIG))
    if kind < 0.85:
        dtype = np.dtype(getattr(ml_dtypes, rng.choice(SMALL)))
        return dtype.newbyteorder(">") if dtype.itemsize == 2 and rng.random() < 0.3 else dtype
    if kind < 0.95:
        return np.dtype(rng.choice(FOREIGN))
    return np.dtype(getattr(ml_dtypes, rng.choice(FOREIGN_SMALL)))


def random_shape(rng):
    kind = rng.random()
    if kind < 0.08:
        return ()
    if kind < 0.14:
        shape = [0, *(rng.choice([0, 1, 3]) for _ in range(rng.randint(0, 2)))]
        if len(shape) > 1 and rng.random() < 0.3:
            shape[-1] = 2**40  # once alone: NumPy has no array whose other extents overflow
        return tuple(shape)
    if kind < 0.17:
        return tuple(rng.choice([1, 1, 2]) for _ in range(12))
    return tuple(rng.choice([1, 2, 3, 4, 5, 7, 8, 17]) for _ in range(rng.randint(1, 4)))


def random_tensor(rng):
    dtype, shape = random_dtype(rng), random_shape(rng)
    if dtype.hasobject:
        return np.full(shape if 2**40 not in shape else (0,), None)
    if 2**40 in shape:  # an array without elements whose other extents are huge
        return np.zeros(shape, dtype)
    x = _filled(rng, shape, dtype)
    kind = rng.random()
    if kind < 0.25:
        return np.array(x, order="F")
    if kind < 0.4 and x.ndim:
        return x[::-1]
    if kind < 0.5 and x.ndim > 1:
        return x.swapaxes(0, -1)
    return np.array(x, order="C") if kind < 0.9 else x


def random_name(rng, i):
    return f"{i}{rng.choice(['', '.weight', '/b', ' c', 'é', '€.npz', chr(34), 'a' * 60, '.NPY'])}"


class Batch:
    """Random tensors by name, a folder, and the routes between the programs."""

    def __init__(self, seed, folder, counts, command=None, commands=8, tensors=TENSORS):
        self.rng, self.seed, self.folder, self.counts = random.Random(seed), seed, folder, counts
        self.command, self.commands = command, commands
        self.tensors = {random_name(self.rng, i): random_tensor(self.rng) for i in range(tensors)}
        self.failures = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def tally(self, route, name, read, said):
        """Counts one round trip: `read()` gives an array, and `said` how the file's format says the type."""
        x = self.tensors[name]
        try:
            outcome = trips.outcome(x, said, read)
        except Exception as error:  # noqa: BLE001 - a failure of any kind is one of this round trip
            outcome = f"FAILED {type(error).__name__}: {error}"
        self.counts[route][outcome.split(":")[0]] += 1
        if outcome.startswith("FAILED"):
            self.failures.append(f"seed {self.seed}, {route}, {name!r} of {x.dtype} {x.shape}: {outcome}")

    def read_file(self, route, path, names, said, load):
        """Tallies all tensors of a file, which `load(path, name)` gives one by one."""
        for name in names:
            self.tally(route, name, lambda name=name: load(path, name), said)

    def run(self):
        self.numpy_writes()
        self.relayout_writes()
        if safetensors is not None:
            self.safetensors_writes()
        for _ in range(self.commands if self.command else 0):
            self.command_converts()
        return self.failures

    def numpy_writes(self):
        for i, (name, x) in enumerate(self.tensors.items()):
            path = self.path(f"numpy-{i}.npy")
            np.save(path, x)
            self.tally("NumPy -> npy -> Python", name, lambda: trips.load_npy(path, self.tensors[name]), "numpy")
            self.tally("NumPy -> npy -> C++", name, lambda: trips.native_array(_native.TensorFile(path), ""), "numpy")
        path = self.path("numpy.npz")
        (np.savez if self.rng.random() < 0.7 else np.savez_compressed)(path, **self.tensors)
        file = relayout.open(path)
        self.read_file("NumPy -> npz -> Python", path, self.tensors,
                       "numpy", lambda _, name: trips.typed(file[name], self.tensors[name]))
        one = self.rng.choice(list(self.tensors))
        self.tally("NumPy -> npz -> Python, by name", one,
                   lambda: trips.typed(relayout.File(path, one)[one], self.tensors[one]), "numpy")

    def written(self):
        """Those of types that relayout converts. Of the others .npy keeps NumPy's own; the rest it must refuse."""
        out = {}
        for name, x in self.tensors.items():
            if trips.has_relayout(x.dtype):
                out[name] = x
            elif trips.is_numpys_own(x.dtype):
                path = self.path("kept.npy")
                self.tally("Python -> npy -> NumPy, as it is", name, lambda: trips.saved(path, x), "relayout")
            else:
                self.tally("Python refuses", name, lambda: relayout.save(self.path("refused.npy"), x), "nothing")
        return out

    def relayout_writes(self):
        written = self.written()
        for i, (name, x) in enumerate(written.items()):
            path = self.path(f"relayout-{i}.npy")
            relayout.save(path, x, overwrite=True)
            self.tally("Python -> npy -> NumPy", name, lambda: trips.load_numpy(np.load(path), x), "relayout")
            self.tally("Python -> npy -> Python", name, lambda: relayout.load(path), "relayout")
        path = self.path("relayout.npz")
        relayout.save(path, written, overwrite=True)
        with np.load(path) as members:
            self.read_file("Python -> npz -> NumPy", path, written,
                           "relayout", lambda _, name: trips.load_numpy(members[name], written[name]))
        loaded = relayout.load(path)
        self.read_file("Python -> npz -> Python", path, written, "relayout", lambda _, name: loaded[name])
        path = self.path("relayout.safetensors")
        metadata = {random_name(self.rng, 0): random_name(self.rng, 1)}
        relayout.save(path, written, metadata=metadata, overwrite=True)
        file = relayout.open(path)
        assert file.metadata == metadata and file.names == list(written)
        self.read_file("Python -> safetensors -> Python", path, written, "relayout",
                       lambda _, name: file[name].array())
        native = _native.TensorFile(path)
        self.read_file("Python -> safetensors -> C++", path, written, "relayout",
                       lambda _, name: trips.native_array(native, name))
        if safetensors is not None:
            with open(path, "rb") as opened:
                theirs = dict(safetensors.deserialize(opened.read()))
            self.read_file("Python -> safetensors -> safetensors", path, written, "relayout",
                           lambda _, name: trips.from_safetensors(theirs[name], written[name]))

    def safetensors_writes(self):
        path, written = self.path("theirs.safetensors"), {}
        for name, x in self.tensors.items():
            if trips.safetensors_has(x.dtype):
                written[name] = np.array(x.astype(x.dtype.newbyteorder("=")), order="C")
        specs = {name: safetensors.TensorSpec(dtype=x.dtype.name, shape=x.shape, data_ptr=x.ctypes.data,
                                              data_len=x.nbytes) for name, x in written.items()}
        with open(path, "wb") as opened:
            opened.write(bytes(safetensors.serialize(specs, metadata={"format": "np"})))
        file = relayout.open(path)
        assert file.metadata == {"format": "np"}
        self.read_file("safetensors -> safetensors -> Python", path, written, "safetensors",
                       lambda _, name: trips.typed(file[name], written[name]))

    def command_converts(self):
        """One tensor of a file of many, by a call of the command into another format."""
        name = self.rng.choice(list(self.tensors))
        x = self.tensors[name]
        sources = [("NumPy", "numpy.npz", "numpy")]
        if trips.has_relayout(x.dtype):
            sources += [("Python", "relayout.npz", "relayout"), ("Python", "relayout.safetensors", "relayout")]
        if safetensors is not None and trips.safetensors_has(x.dtype):
            sources.append(("safetensors", "theirs.safetensors", "safetensors"))
        writer, source, said = self.rng.choice(sources)
        target = "command." + self.rng.choice(["npy", "npz", "safetensors"])
        reader = self.rng.choice(["Python", "safetensors" if target.endswith("safetensors") else "NumPy"])
        if safetensors is None and reader == "safetensors":
            reader = "Python"
        route = f"{writer} -> {source.split('.')[1]} -> command -> {target.split('.')[1]} -> {reader}"
        call = [self.command, "convert", self.path(source), self.path(target), "--tensor", name, "--to", "contiguous",
                "-f"]
        call += trips.dtype_flag(x, said)
        self.tally(route, name, lambda: trips.by_command(call, self.path(target), x, reader), said + " by the command")


def run(count, seed=1, command=None, commands=8, tensors=TENSORS):
    """Batches until there were `count` round trips. Gives the counts a route and the failures."""
    counts, failures = collections.defaultdict(collections.Counter), []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while sum(sum(route.values()) for route in counts.values()) < count:
            batch = Batch(seed, folder, counts, command, commands, tensors)
            try:
                failures += batch.run()
            except Exception as error:  # noqa: BLE001 - what stops a batch is a failure too
                failures.append(f"seed {seed}: the batch stopped: {type(error).__name__}: {error}")
                counts["the whole batch"]["FAILED"] += 1
            seed += 1
    return counts, failures


def line(route, outcomes):
    return f"{sum(outcomes.values()):8}  {route}: " + ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", help="the relayout command")
    parser.add_argument("--commands", type=int, default=8, help="calls of the command in a batch")
    given = parser.parse_args()
    if given.command:
        subprocess.run([given.command, "--version"], check=True, stdout=subprocess.DEVNULL)
    counts, failures = run(given.count, given.seed, given.command, given.commands)
    total = collections.Counter()
    for route, outcomes in sorted(counts.items()):
        print(line(route, outcomes))
        total.update(outcomes)
    print(line("in all", total))
    print("\n".join(failures[:40]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
