"""Random calls of everything in relayout with random arguments, most of them wrong: python fuzz_calls.py SEED COUNT

An exception of Python is fine where it is one of those that relayout names; everything else, a crash above all, is not.
"""
import random
import sys
import warnings

import numpy as np
import relayout
from relayout import interop

#: What a call may raise: its own errors, a wrong type, an index as of NumPy, what the objects below raise themselves.
ALLOWED = (relayout.Error, TypeError, IndexError, KeyError, BufferError, MemoryError)


class Raises:
    def __dlpack__(self, **ignored):
        raise KeyError("__dlpack__")


class Lies:
    def __init__(self, result):
        self.result = result

    def __dlpack__(self, **ignored):
        return self.result


class Index:
    def __index__(self):
        raise TypeError("__index__")


class Sequence:
    """It says that it is long, and has nothing."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        raise KeyError(i)


def values(rng):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    layouts = [relayout.layout("nChw16c", (2, 17, 5, 4)), relayout.layout("ba", (3, 4)),
               relayout.layout("abc", (2, 3, 4)),
               relayout.layout("strides:0,1", (3, 4)), relayout.layout("contiguous", ()),
               relayout.layout("contiguous", (0, 3)),
               relayout.layout("strides:-4,1@8", (3, 4)), relayout.layout("ab", (2**31, 2**31))]
    buffers = [relayout.Buffer.allocate(layout, name) for layout in layouts[:-1] for name in ("f32", "s4", "bf16")]
    used = buffers[3].__dlpack__()
    relayout.Buffer.from_dlpack(Lies(used))
    read_only = x.copy()
    read_only.flags.writeable = False
    arrays = [x, x.T, x[::-1, :, ::2], x.astype("f2"), x.astype("u1"), x.astype("c16"), np.zeros((2, 3, 4), "V0"),
              np.zeros(0), np.zeros((3, 0, 2)), np.zeros(()), np.zeros((2, 3, 4), object), np.zeros(7, "S3"),
              np.zeros(4, ">i4"),
              np.ma.masked_array(x, x > 3), np.matrix(np.eye(3)), read_only, np.broadcast_to(np.float32(1), (2, 3, 4)),
              np.zeros(4, "i1,f8")["f1"], np.zeros((1,) * 14), np.zeros((1,) * 12, "c16"), np.zeros((2,) * 12, "c16").T,
              np.broadcast_to(np.float64(1), (2**20, 2**20, 2**18)), np.zeros(100, "M8[s]"), np.float32(3),
              np.bool_(True)]
    numbers = [0, 1, 2, 3, -1, 7, 16, 2**31, 2**32, 2**62, 2**63, -2**63, 10**30, 0.5, -0.0, float("nan"),
               float("inf"), 1e300, 1j]
    texts = ["", "a", "ab", "ba", "abc", "cab", "Abc4a", "aBc16b", "nchw", "nChw16c", "OIhw4i16o4i", "ab.flip(0)",
             "abc.narrow(0,1,1)", "strides:1,2", "strides:0,0", "strides:5,1@3", "digits:(3,4)|(2,1)", "digits:(0,0)",
             "cute:(4,2):(1,4)",
             "contiguous", "A999999999999a", "a" * 200, "\0", "\udcff", "\u20ac", "f32[3,5]{1,0}", "f32", "bf16", "s4",
             "u8", "float32",
             "C", "F", "K", "channels_last", "numpy", "cute", "c", "tvm", "f31", "in_out_channel", "mxfp8", "nhd",
             "first",
             "src_f32:p:blocked:aBcd16b:f0", "nh|Cw4c"]
    tuples = [(), (0,), (1,), (2, 3), (3, 4), (2, 3, 4), (4, 2, 3), (0, 1, 2), (2, 1, 0), (-1, 2), (2**62, 4),
              (2**63,), (1.5, 2), (1,) * 13,
              (2, 17, 5, 4), ("a", 1), (None, 1), (0, 3), [2, 3, 4], [], (Index(), 2)]
    others = [None, True, False, ..., slice(None), slice(2, None, -1), slice(0, 2**70), object(), {},
              {"shape": (2,), "typestr": "<f4"},
              {"dims": (2, 3), "strides": (3, 1)}, {"shape": (2**62, 2**62), "typestr": "x"}, {1, 2}, len, int,
              np.dtype("f4"), np.float16,
              np.dtype("V3"), b"abc", bytearray(24), memoryview(b"abcdefgh"), Raises(), Lies(None), Lies(used),
              Lies(3), Sequence(),
              Index(), "x.npy", "x.npz", "x.safetensors", "x.raw", b"\xff.npy",
              relayout.Layout.__new__(relayout.Layout),
              relayout.Buffer.__new__(relayout.Buffer), relayout.plan_conversion(x, "abc", "cab")]
    return [arrays, numbers, texts, tuples, others, layouts, buffers]


#: Names of keywords with what mostly fits them, so that not every call fails at its first argument.
KEYWORDS = ["copy", "threads", "out", "dims", "dtype", "src_dtype", "scale", "dst_scale", "zero_point",
            "dst_zero_point", "beta",
            "padding", "like", "name", "layout", "overwrite"]


def functions():
    out = [relayout.contiguous, relayout.copy, relayout.transpose, relayout.convert, relayout.plan_conversion,
           relayout.reorder_in_place, relayout.layout, relayout.layout_of, relayout.empty, relayout.load, relayout.open,
           relayout.save, relayout.Buffer.allocate, relayout.Buffer.from_dlpack, relayout.Conversion,
           relayout.rearrange, relayout.overlaps, relayout.is_channels_last, relayout.convert_file]
    out += [getattr(interop, name) for name in dir(interop) if not name.startswith("_")]
    for class_ in (relayout.Layout, relayout.Buffer, relayout.Conversion):
        out += [getattr(class_, name) for name in dir(class_)
                if callable(getattr(class_, name)) and (not name.startswith("_") or name in (
                    "__getitem__", "__eq__", "__hash__", "__repr__", "__reduce__", "__dlpack__"))]
    return out


def too_large(argument):
    """Whether a call might take all of memory, which is not a fault."""
    return isinstance(argument, np.ndarray) and argument.nbytes > 2**30


def call_once(rng, kinds, callables):
    function = rng.choice(callables)
    name = getattr(function, "__name__", str(function))
    arguments = [rng.choice(rng.choice(kinds)) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 3, 3, 4, 6]))]
    owner = {"Layout": 5, "Buffer": 6}.get(getattr(function, "__qualname__", "").split(".")[0])
    if rng.random() < 0.8:  # a first argument that fits
        first = kinds[owner] if owner else kinds[0]
        arguments[:1] = [rng.choice(first)]
    if name in ("convert", "plan_conversion", "reorder_in_place", "Conversion") and rng.random() < 0.7:
        arguments[1:3] = [rng.choice(kinds[2] + kinds[5]), rng.choice(kinds[2] + kinds[5])]
    keywords = {rng.choice(KEYWORDS): rng.choice(rng.choice(kinds)) for _ in range(rng.choice([0, 0, 0, 1, 2]))}
    if any(too_large(a) for a in [*arguments, *keywords.values()]) and name not in ("layout_of", "plan_conversion"):
        return None, None
    print(name, [type(a).__name__ if not isinstance(a, (str, int, float, tuple)) else a for a in arguments],
          keywords.keys(),
          file=LOG, flush=True)
    try:
        function(*arguments, **keywords)
        return name, None
    except relayout.InternalError as error:
        return name, error
    except ALLOWED:
        return name, None
    except ValueError as error:
        # NumPy's and Python's own words are fine for what only they know, such as a step of 0.
        return name, None if "relayout" not in type(error).__module__ else error
    except Exception as error:  # noqa: BLE001 - which one is the finding
        return name, error


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    kinds = values(rng)
    callables = functions()
    findings = {}
    for _ in range(count):
        name, error = call_once(rng, kinds, callables)
        if error is not None:
            findings.setdefault((name, type(error).__name__, str(error)[:80]), error)
    for (name, kind, message), _ in findings.items():
        print(f"{name}: {kind}: {message}")
    return 1 if findings else 0


if __name__ == "__main__":
    with open("calls.log", "w", encoding="utf-8", errors="backslashreplace") as LOG:
        status = main()
    sys.exit(status)
