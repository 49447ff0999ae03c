"""Random arrays written to files and read again, each file by all that know its format: NumPy, the package safetensors,
relayout in Python (which is the C++ library) and the command.

    python round_trips.py [--count N] [--seed S] [--command PATH]

A round trip is one array that one of them wrote and one of them read: equal, or refused with a reason. Anything else is
printed with the seed that makes it again, and the program ends with 1. The last lines are the counts by writer, reader
and outcome. Arrays have all types of NumPy and of ml_dtypes, both orders of bytes, both orders of memory and views with
other strides, no dims and no elements.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import relayout

try:
    from safetensors import numpy as safetensors
except ImportError:
    safetensors = None

PLAIN = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
SMALL = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"]
#: Types that relayout does not convert: it gives and takes their bytes.
FOREIGN = ["c8", "c16", "S3", "U2", "V3", "M8[s]", "i4,f8", "float8_e8m0fnu", "float8_e4m3b11fnuz"]
#: What the command must be told of NumPy's void types.
OURS = {"bfloat16": "bf16", "float8_e4m3fn": "f8_e4m3", "float8_e5m2": "f8_e5m2"}
PER_FILE = 8


class Refused(Exception):
    """A reader or writer does not take this, and says why."""


def type_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def random_array(rng):
    pool = PLAIN * 3 + SMALL * 2 + FOREIGN
    name = pool[rng.integers(len(pool))]
    dtype = type_of(name)
    shape = tuple(int(n) for n in rng.integers(0, 6, rng.integers(0, 5)))
    base = tuple(n * 2 for n in shape) if rng.random() < 0.2 else shape
    data = rng.bytes(int(np.prod(base, dtype=int)) * dtype.itemsize)
    if name == "?":
        data = bytes(b & 1 for b in data)
    elif name in ("int4", "uint4"):
        data = bytes(b & 15 if name == "uint4" or not b & 8 else b | 0xf0 for b in data)
        data = bytes(b & 7 if name == "int4" and not b & 8 else b for b in data)
    elif name == "U2":
        data = np.frombuffer(data, "u4").__mod__(0x60).astype("u4").tobytes()
    x = np.frombuffer(data, dtype).reshape(base)
    if base != shape:
        x = x[tuple(slice(None, None, 2) for _ in shape)]
    if name in PLAIN and rng.random() < 0.3:
        x = x.astype(x.dtype.newbyteorder(">"))
    order = rng.integers(3)
    if order == 1:
        x = np.asfortranarray(x)
    elif order == 2 and x.ndim:
        x = x.transpose(rng.permutation(x.ndim))
    return name, x


def plain_bytes(x):
    """Of the elements in row-major order and the machine's order of bytes."""
    x = np.asarray(x)
    if x.dtype.byteorder == ">" and x.dtype.names is None:
        x = x.astype(x.dtype.newbyteorder("="))
    return x.tobytes()


def check(name, x, got):
    """Raises where `got` is not x: its elements by their bytes; the type too where the format can say it."""
    got = np.asarray(got)
    if got.shape != x.shape:
        raise AssertionError(f"shape {got.shape}, not {x.shape}")
    read, wanted = np.frombuffer(plain_bytes(got), "u1"), np.frombuffer(plain_bytes(x), "u1")
    if name in ("int4", "uint4"):  # the upper half of a byte does not count
        read, wanted = read & 15, wanted & 15
    if not np.array_equal(read, wanted):
        raise AssertionError("other bytes")
    if name in PLAIN and got.dtype.newbyteorder("=") != x.dtype.newbyteorder("="):
        raise AssertionError(f"type {got.dtype}, not {x.dtype}")


# Writers: (folder, arrays by name) to the files that they wrote, each with the names that are in it.


def by_numpy(folder, arrays, rng):
    path = os.path.join(folder, "n.npz")
    (np.savez if rng.random() < 0.7 else np.savez_compressed)(path, **{k: x for k, (_, x) in arrays.items()})
    yield path, list(arrays)
    for key, (_, x) in list(arrays.items())[:2]:
        path = os.path.join(folder, f"n_{key}.npy")
        np.save(path, x)
        yield path, [key]


def by_safetensors(folder, arrays, rng):
    if safetensors is None:
        return
    path = os.path.join(folder, "s.safetensors")
    kept = {}
    for key, (name, x) in arrays.items():
        if name in PLAIN or name == "bfloat16":
            kept[key] = np.ascontiguousarray(x.astype(x.dtype.newbyteorder("="))).reshape(x.shape)
    if kept:
        safetensors.save_file(kept, path)
        yield path, list(kept)


def by_relayout(folder, arrays, rng):
    kept = {}
    for key, (name, x) in arrays.items():
        try:
            relayout.save(os.path.join(folder, f"r_{key}.npy"), x)
        except relayout.UnsupportedError:
            if name not in FOREIGN:
                raise
            continue
        kept[key] = x
        yield os.path.join(folder, f"r_{key}.npy"), [key]
    known = {key: x for key, x in kept.items() if arrays[key][0] in PLAIN}  # to the package safetensors too
    for file, some in (("r.npz", kept), ("r.safetensors", kept), ("r_known.safetensors", known)):
        if some:
            relayout.save(os.path.join(folder, file), some)
            yield os.path.join(folder, file), list(some)


# Readers: (path, name in the file, its type's name, its array) to an array.


def numpy_reads(path, key, name, x):
    if path.endswith(".safetensors"):
        return None
    if name in ("int4", "uint4") and os.path.basename(path).startswith("r"):
        raise Refused("relayout packs two elements of 4 bits in a byte, which NumPy does not know")
    try:
        read = np.load(path)
        return read[key] if path.endswith(".npz") else read
    except ValueError as error:
        if name == "float8_e5m2" and "'<f1'" in str(error):
            raise Refused("NumPy does not read the type <f1, which it writes") from None
        raise


def safetensors_reads(path, key, name, x):
    if safetensors is None or not path.endswith(".safetensors"):
        return None
    if name in ("int4", "uint4"):
        raise Refused("safetensors knows no elements of 4 bits, so they are bytes of two")
    try:
        read = safetensors.load_file(path)
    except Exception as error:  # of a type that the package does not know, which hides the whole file
        raise Refused(f"safetensors: {type(error).__name__}") from None
    return read[key]


def asked_type(path, name):
    """What a reader must be told: NumPy's files hold void elements for types that NumPy does not know."""
    return None if os.path.basename(path).startswith("r") or name not in SMALL else type_of(name)


def relayout_reads(path, key, name, x):
    dtype = asked_type(path, name) if not path.endswith(".safetensors") else None
    try:
        file = relayout.open(path)
        return file["" if path.endswith(".npy") else key].array(dtype)
    except relayout.UnsupportedError as error:
        if name not in FOREIGN:
            raise
        raise Refused(str(error).split(":")[0]) from None


def command_reads(command, path, key, name, x):
    out = os.path.join(os.path.dirname(path), "out.npy")
    call = [command, "convert", path, out, "-f", "--from", "contiguous", "--to", "contiguous"]
    if not path.endswith(".npy"):
        call += ["--tensor", key]
    if not os.path.basename(path).startswith("r") and name in OURS and path.endswith(("npy", "npz")):
        call += ["--dtype", OURS[name]]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode != 0:
        if name in FOREIGN or name in ("int4", "uint4"):
            if done.returncode in (2, 3, 5) and done.stderr.startswith("relayout: "):
                raise Refused("the command: a type without a conversion")
        raise AssertionError(f"exit {done.returncode}: {done.stderr.strip()}")
    if name in ("int4", "uint4"):
        raise Refused("the command: 4-bit elements are packed in .npy")
    return np.load(out)


def trips(seed, command, counts, failures):
    rng = np.random.default_rng(seed)
    arrays = {f"t{i}": random_array(rng) for i in range(PER_FILE)}
    readers = [("NumPy", numpy_reads), ("safetensors", safetensors_reads), ("relayout", relayout_reads)]
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        for writer, write in (("NumPy", by_numpy), ("safetensors", by_safetensors), ("relayout", by_relayout)):
            for path, keys in write(folder, arrays, rng):
                extension = path.rsplit(".", 1)[1]
                chosen = list(readers)
                for key in keys:
                    name, x = arrays[key]
                    asked = chosen
                    if command and rng.random() < 0.06:
                        asked = chosen + [("command", lambda *said: command_reads(command, *said))]
                    for reader, read in asked:
                        try:
                            got = read(path, key, name, x)
                            if got is None:
                                continue
                            check(name, x, got)
                            outcome = "equal"
                        except Refused as reason:
                            outcome = f"refused: {reason}"
                        except Exception as error:  # noqa: BLE001 - whatever it is, it is said
                            outcome = "WRONG"
                            failures.append(f"seed {seed}, {writer} {extension} by {reader}, {key} {name} {x.dtype.str} "
                                            f"{x.shape} strides {x.strides}: {type(error).__name__}: {error}")
                        counts[writer, extension, reader, outcome] += 1
                        done += 1
    return done


def run(count, seed=0, command=None, say=print):
    """At least `count` round trips; the failures as texts."""
    counts, failures, done = collections.Counter(), [], 0
    while done < count:
        done += trips(seed, command, counts, failures)
        seed += 1
    for (writer, extension, reader, outcome), number in sorted(counts.items()):
        say(f"{number:8}  .{extension:12} {writer:12} -> {reader:12} {outcome}")
    say(f"{done:8}  round trips, {len(failures)} wrong")
    for failure in failures[:20]:
        say(failure)
    return failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--command", help="the relayout command")
    said = parser.parse_args()
    sys.exit(1 if run(said.count, said.seed, said.command) else 0)
