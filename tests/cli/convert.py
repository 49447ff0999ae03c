"""convert and compare: values by the thousand, memory, parts, threads."""
import json
import math
import os
import random
import re
import struct
import zipfile

import model
import tensors
from shared import check_peak, comma, expect, sparse_npy


def cached_pages(command):
    """A file that the system has in its cache in large pages, of which more is mapped than was touched."""
    sparse_npy(command.path("big.npy"), (4096, 16384))
    with open(command.path("big.npy"), "rb") as file:
        while file.read(1 << 20):
            pass
    check_peak(command, 4, "compare", "big.npy", "big.npy")
    check_peak(command, 4, "compare", "big.npy", "big.npy", "--from-a", "ba", "--from-b", "ba")


def peak_memory(command):
    """A 256 MiB transposition under 32 MiB."""
    rows, columns, cap = 8192, 8192, 32
    space = os.statvfs(command.directory)
    if space.f_bavail * space.f_frsize < 2 << 30:
        return "skipped: under 2 GiB of disk"
    start = sparse_npy(command.path("big.npy"), (rows, columns))
    rng = random.Random(1)
    marks = {(rng.randrange(rows), rng.randrange(columns)): i + 1 for i in range(2000)}
    with open(command.path("big.npy"), "r+b") as file:
        for (row, column), value in marks.items():
            os.pwrite(file.fileno(), struct.pack("<f", value), start + 4 * (row * columns + column))
    check_peak(command, cap, "convert", "big.npy", "out.npy", "--from", "ab", "--to", "ba")
    check_peak(command, 16, "compare", "big.npy", "out.npy", "--from-a", "ab", "--from-b", "ba")
    with open(command.path("out.npy"), "rb") as file:
        out_start = os.fstat(file.fileno()).st_size - 4 * rows * columns
        for (row, column), value in marks.items():
            (found,) = struct.unpack("<f", os.pread(file.fileno(), 4, out_start + 4 * (column * rows + row)))
            expect(found, value, "element (%d,%d)" % (row, column))
        zero = bytes(1 << 20)
        nonzero = 0
        os.lseek(file.fileno(), out_start, os.SEEK_SET)
        while chunk := file.read(1 << 20):
            if chunk != zero[:len(chunk)]:
                nonzero += sum(1 for i in range(0, len(chunk), 4) if chunk[i:i + 4] != b"\0\0\0\0")
        expect(nonzero, len(marks), "elements that are not zero")


def large_blocks(command):
    """Without a cap, no block is too large: neither for compare, nor where swapped bytes are moved in parts."""
    sparse_npy(command.path("x.npy"), (2, 4194304), "|u1")
    expect(command.ok("compare", "x.npy", "x.npy", "--from-a", "A4194304a", "--from-b", "A4194304a"),
           "equal: 8388608 elements\n", "compare")
    result = command.run("compare", "x.npy", "x.npy", "--from-a", "A4194304a", "--from-b", "A4194304a", "--max-memory",
                         "2M")
    expect(result.returncode, 2, "compare under a cap")
    dims = (1, 100, 520, 520)
    start = sparse_npy(command.path("swapped.npy"), dims, ">f4")
    with open(command.path("swapped.npy"), "r+b") as file:
        for i in range(0, math.prod(dims), 99991):
            os.pwrite(file.fileno(), struct.pack(">f", i), start + 4 * i)
    command.ok("convert", "swapped.npy", "y.npy", "--to", "nChw16c")
    command.ok("compare", "swapped.npy", "y.npy", "--from-b", "nChw16c", "--dims", comma(dims))


def threads(command):
    """compare says the same with any number of threads, also where it is cut into ranges."""
    dims = (40, 3000, 7)
    values = [0.0] * math.prod(dims)
    tensors.write_npy(command.path("x.npy"), dims, values=values)
    for i in (130003, 130004, 400000, 839999):
        values[i] = i
    tensors.write_npy(command.path("y.npy"), dims, values=values)
    found = {command.run("compare", "x.npy", "y.npy", "--threads", count, *cap).stdout
             for count in (1, 2, 7) for cap in ((), ("--max-memory", "2M"))}
    expect(found, {"4 of 840000 elements differ\nfirst at 6,571,6: 0 and 130003\n"
                   "largest absolute difference 839999\n"}, "compare")


def conversions(command):
    """Files between layouts, values and padding, against model.py."""
    rng = random.Random(4)
    for rank in (2, 3, 4, 5):
        names = [tag for tag, r in model.TAGS if r == rank]
        for src in names:
            for dst in names:
                dims = [rng.choice((1, 2, 3, 5, 17)) for _ in range(rank)]
                every = list(model.indices(dims))
                stored = [-7.0] * math.prod(model.physical_shape(src, dims))  # dirty padding
                wanted = [0.0] * math.prod(model.physical_shape(dst, dims))
                for index in every:
                    value = 1.0 + model.flat_index(dims, index)
                    stored[model.offset(src, dims, index)] = value
                    wanted[model.offset(dst, dims, index)] = value
                tensors.write_npy(command.path("x.npy"), model.physical_shape(src, dims), values=stored)
                command.ok("convert", "x.npy", "y.npy", "--from", src, "--to", dst, "--dims", comma(dims), "-f")
                _, _, shape, values = tensors.read_npy(command.path("y.npy"))
                expect(shape, model.physical_shape(dst, dims), "shape %s -> %s %s" % (src, dst, dims))
                expect(values, wanted, "values %s -> %s %s" % (src, dst, dims))
                command.ok("compare", "x.npy", "y.npy", "--from-a", src, "--from-b", dst, "--dims", comma(dims))


def parts(command):
    """A conversion in parts gives the bytes of one at once: blocks that do not divide, tails, swapped bytes."""
    dims = (3, 1000, 37, 29)
    count = math.prod(dims)
    values = struct.pack(">%df" % count, *range(count))
    head = tensors.npy_bytes((1,), ">f4")
    with open(command.path("x.npy"), "wb") as file:
        text = ("{'descr': '>f4', 'fortran_order': False, 'shape': %s, }" % (dims,)).encode()
        text += b" " * ((64 - (10 + len(text) + 1) % 64) % 64) + b"\n"
        file.write(head[:8] + struct.pack("<H", len(text)) + text + values)
    for to in ("aBcd48b", "nhwc", "BAcd32a3b"):
        command.ok("convert", "x.npy", "whole.npy", "--to", to, "-f")
        summary = json.loads(command.ok("convert", "x.npy", "parts.npy", "--to", to, "-f", "--max-memory", "2M",
                                        "--json"))
        assert summary["parts"] > 1, summary
        with open(command.path("whole.npy"), "rb") as whole, open(command.path("parts.npy"), "rb") as cut:
            assert whole.read() == cut.read(), to
    command.ok("convert", "whole.npy", "48.npy", "--from", "BAcd32a3b", "--dims", comma(dims), "--to", "aBcd48b",
               "--max-memory", "2M")
    command.ok("compare", "48.npy", "x.npy", "--from-a", "aBcd48b", "--from-b", "abcd", "--dims", comma(dims),
               "--max-memory", "3M")
    # If whole blocks of both sides exceed the limit, the error names a limit that is enough.
    args = ("convert", "x.npy", "large.npy", "--to", "ABCD3a1000b37c29d", "-f", "--max-memory")
    result = command.run(*args, "1M")
    expect(result.returncode, 2, result.stderr)
    enough = re.search("; ([0-9]+M) is enough$", result.stderr.strip())
    assert enough, result.stderr
    command.ok(*args, enough[1])


def safe_in_place(command):
    """Output == input, and an output that exists stays whole when the conversion fails."""
    tensors.write_npy(command.path("x.npy"), (2, 3))
    expect(command.run("convert", "x.npy", "x.npy", "--to", "ba").returncode, 4, "without -f")
    expect(tensors.read_npy(command.path("x.npy"))[3], [0, 1, 2, 3, 4, 5], "untouched")
    command.ok("convert", "x.npy", "x.npy", "--to", "ba", "-f")
    expect(tensors.read_npy(command.path("x.npy"))[2:], ((3, 2), [0, 3, 1, 4, 2, 5]), "in place")
    expect(command.files(), ["x.npy"], "files")


def explain(command):
    tensors.write_npy(command.path("x.npy"), (2, 17, 5, 4))
    text = command.ok("convert", "x.npy", "y.npy", "--to", "nChw16c", "--explain")
    assert len(text) > 40, text
    expect(tensors.read_npy(command.path("y.npy"))[2], (2, 2, 5, 4, 16), "still converts")


def other_members(command):
    """What is wrong with a tensor that is not asked for does not matter."""
    small = tensors.npy_bytes((2, 3))
    big = tensors.npy_bytes((1 << 20,), "<f4", [0] * (1 << 20))
    for name in ("a", "z"):  # tensors before and after the one that is asked for
        broken = {"text": small.replace(b"'<f4'", b"'<U4'"), "object": small.replace(b"'<f4'", b"'|O' "), "big": big,
                  "no_array": b"no array"}
        for what, other in broken.items():
            with zipfile.ZipFile(command.path("x.npz"), "w", zipfile.ZIP_DEFLATED) as file:
                for member, data in sorted({name: other, "m": small}.items()):
                    file.writestr(member + ".npy", data)
            memory = ("--max-memory", "2M") if what == "big" else ()
            command.ok("convert", "x.npz", "y.npy", "--tensor", "m", "--to", "ba", "-f", *memory)
            expect(tensors.read_npy(command.path("y.npy"))[2:], ((3, 2), [0, 3, 1, 4, 2, 5]), what)
            result = command.run("convert", "x.npz", "y.npy", "--tensor", name, "--to", "a", "-f", *memory)
            expect(result.returncode, 2 if memory else 5 if what == "object" else 3, what)
            assert not memory or result.stderr.startswith("relayout: --max-memory 2097152: "), result.stderr
    for other in (("C64", [2], 16), ("F8_E4M3FNUZ", [2], 2), ("F32", [1] * 13, 4), ("F32", [3], 8)):
        head = json.dumps({name: {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
                           for name, at, (dtype, shape, size) in (("m", 0, ("U8", [2, 3], 6)), ("a", 6, other))})
        with open(command.path("x.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(head)) + head.encode() + bytes(range(6)) + bytes(other[2]))
        command.ok("convert", "x.safetensors", "y.npy", "--tensor", "m", "--to", "ba", "-f")
        expect(tensors.read_npy(command.path("y.npy"))[2:], ((3, 2), [0, 3, 1, 4, 2, 5]), other)
        for flags, codes in (((), (2,)), (("--tensor", "a"), (3, 5))):  # which tensor; or what is wrong with it
            result = command.run("convert", "x.safetensors", "y.npy", "--to", "ab", "-f", *flags)
            assert result.returncode in codes, "%s: %s" % (other, result.stderr)


ALL = [cached_pages, peak_memory, large_blocks, threads, conversions, parts, safe_in_place, explain,
       other_members]
