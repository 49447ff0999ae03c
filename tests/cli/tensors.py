#!/usr/bin/env python3
"""Small tensor files for the command's tests, written and read with the standard library alone.

As a command (named `tensor` inside the golden cases):

    tensor npy x.npy --shape 2,3 [--descr '>f4'] [--fortran] [--values 1,2,3]     0,1,2,... unless given
    tensor npz x.npz a=2,3 b=4                                                    members of that shape
    tensor png x.png --size 3x2 [--grey | --rgba]
    tensor bmp x.bmp --size 3x2 [--bits 32] [--top-down]                          the same samples as png
    tensor safetensors x.safetensors a=F32:2,3 b=U8:4
    tensor show FILE                                                              what a file holds
"""
import argparse
import io
import itertools
import json
import math
import struct
import sys
import zipfile
import zlib

CODES = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
         "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "b1": "B", "V1": "B", "V2": "H"}
SAFE_CODES = {"F64": "d", "F32": "f", "F16": "e", "BF16": "H", "I64": "q", "I32": "i", "I16": "h", "I8": "b",
              "U64": "Q", "U32": "I", "U16": "H", "U8": "B", "BOOL": "B",
              "F8_E4M3FNUZ": "B", "C64": "Q"}


def pack(descr, values):
    order = ">" if descr[0] == ">" else "<"
    return struct.pack(order + str(len(values)) + CODES[descr[1:]], *values)


def npy_bytes(shape, descr="<f4", values=None, fortran=False):
    """A .npy file; `values` in the order in which they lie in the file."""
    count = math.prod(shape)
    values = list(range(count)) if values is None else list(values)
    if descr[1] in "iuVb":
        values = [int(v) for v in values]
    text = "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, text)
    head += " " * ((64 - (10 + len(head) + 1) % 64) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + pack(descr, values)


def write_npy(path, *args, **options):
    with open(path, "wb") as file:
        file.write(npy_bytes(*args, **options))


def parse_npy(data):
    """(descr, fortran_order, shape, values in file order)"""
    assert data[:6] == b"\x93NUMPY", "no .npy file"
    (length,) = struct.unpack("<H", data[8:10])
    head = eval(data[10:10 + length], {"__builtins__": {}})  # the command's own output, in its own tests
    descr, shape = head["descr"], tuple(head["shape"])
    order = ">" if descr[0] == ">" else "<"
    values = struct.unpack(order + str(math.prod(shape)) + CODES[descr[1:]], data[10 + length:])
    return descr, head["fortran_order"], shape, list(values)


def read_npy(path):
    with open(path, "rb") as file:
        return parse_npy(file.read())


def png_bytes(width, height, channels=3):
    """8-bit samples 0, 1, 2, ... modulo 251."""
    colour_type = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    samples = (i % 251 for i in itertools.count())
    rows = b"".join(b"\0" + bytes(itertools.islice(samples, width * channels)) for _ in range(height))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def bmp_bytes(width, height, bits=24, top_down=False):
    """The samples of png_bytes as blue, green and red, rows of whole 4 bytes with the bottom row first."""
    samples = (i % 251 for i in itertools.count())
    rows = []
    for _ in range(height):
        pixels = [bytes(itertools.islice(samples, 3)) for _ in range(width)]
        row = b"".join(pixel[::-1] + b"\xee" * (bits // 8 - 3) for pixel in pixels)
        rows.append(row + b"\xdd" * (-len(row) % 4))
    body = b"".join(rows if top_down else reversed(rows))
    info = struct.pack("<IiiHHIIiiII", 40, width, -height if top_down else height, 1, bits, 0, len(body), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(body), 0, 0, 54) + info + body


def safetensors_bytes(tensors):
    """tensors: name -> (dtype, shape), values 0, 1, 2, ..."""
    header, body = {}, b""
    for name, (dtype, shape) in tensors.items():
        count = math.prod(shape)
        data = struct.pack("<%d%s" % (count, SAFE_CODES[dtype]), *range(count))
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def show_values(values, width):
    def text(value):
        return "%g" % value if isinstance(value, float) else str(value)
    width = max(1, width)
    return "".join(" ".join(map(text, values[i:i + width])) + "\n" for i in range(0, len(values), width))


def show_npy(data):
    descr, fortran, shape, values = parse_npy(data)
    out = "%s%s %s\n" % (descr, " fortran" if fortran else "", shape)
    return out + show_values(values, shape[-1] if shape else 1)


def show(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] == b"\x93NUMPY":
        return show_npy(data)
    if data[:2] == b"PK":
        out = ""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                out += member + ": " + show_npy(archive.read(member))
        return out
    if path.endswith(".safetensors"):
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        metadata = header.pop("__metadata__", None)
        out = "metadata %s\n" % json.dumps(metadata) if metadata else ""
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            body = data[8 + length + begin:8 + length + end]
            values = list(struct.unpack("<%d%s" % (math.prod(entry["shape"]), SAFE_CODES[entry["dtype"]]), body))
            out += "%s: %s %s\n" % (name, entry["dtype"], entry["shape"])
            out += show_values(values, entry["shape"][-1] if entry["shape"] else 1)
        return out
    return "".join(data[i:i + 16].hex(" ") + "\n" for i in range(0, len(data), 16))


def shape_of(text):
    return tuple(int(part) for part in text.split(",") if part)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    npy = commands.add_parser("npy")
    npy.add_argument("path")
    npy.add_argument("--shape", type=shape_of, required=True)
    npy.add_argument("--descr", default="<f4")
    npy.add_argument("--fortran", action="store_true")
    npy.add_argument("--values")
    npz = commands.add_parser("npz")
    npz.add_argument("path")
    npz.add_argument("members", nargs="+")
    png = commands.add_parser("png")
    png.add_argument("path")
    png.add_argument("--size", required=True)
    png.add_argument("--grey", action="store_true")
    png.add_argument("--rgba", action="store_true")
    bmp = commands.add_parser("bmp")
    bmp.add_argument("path")
    bmp.add_argument("--size", required=True)
    bmp.add_argument("--bits", type=int, default=24)
    bmp.add_argument("--top-down", action="store_true")
    safe = commands.add_parser("safetensors")
    safe.add_argument("path")
    safe.add_argument("tensors", nargs="+")
    commands.add_parser("show").add_argument("path")
    args = parser.parse_args()
    if args.command == "show":
        sys.stdout.write(show(args.path))
        return
    if args.command == "npy":
        values = [float(v) for v in args.values.split(",")] if args.values else None
        data = npy_bytes(args.shape, args.descr, values, args.fortran)
    elif args.command == "npz":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for member in args.members:
                name, shape = member.split("=")
                archive.writestr(name + ".npy", npy_bytes(shape_of(shape)))
        data = buffer.getvalue()
    elif args.command == "png":
        width, height = (int(part) for part in args.size.split("x"))
        data = png_bytes(width, height, 1 if args.grey else 4 if args.rgba else 3)
    elif args.command == "bmp":
        width, height = (int(part) for part in args.size.split("x"))
        data = bmp_bytes(width, height, args.bits, args.top_down)
    else:
        tensors = {}
        for text in args.tensors:
            name, rest = text.split("=")
            dtype, shape = rest.split(":")
            tensors[name] = (dtype, shape_of(shape))
        data = safetensors_bytes(tensors)
    with open(args.path, "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main()
