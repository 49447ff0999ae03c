"""Pictures as files, without a library: what their pixels are follows from how they are made."""
import struct
import zlib

import numpy as np


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


#: Of Adam7: first column, first row, and the steps of each pass.
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(samples, bits=8, color=None, palette=None, interlaced=False):
    """A .png of samples of shape (height, width, channels): gray, gray and alpha, RGB or RGBA, or indices."""
    height, width, channels = samples.shape
    color = {1: 0, 2: 4, 3: 2, 4: 6}[channels] if color is None else color

    def rows(part):
        flat = part.reshape(len(part), -1)
        if bits >= 8:
            data = flat.astype(f">u{bits // 8}").view(np.uint8)
        else:
            data = np.packbits((flat[..., None] >> np.arange(bits - 1, -1, -1) & 1).reshape(len(flat), -1), axis=1)
        return np.insert(data, 0, 0, axis=1).tobytes()  # no filter

    if interlaced:
        parts = [samples[y::down, x::right] for x, y, right, down in PASSES]
        data = b"".join(rows(part) for part in parts if part.size)
    else:
        data = rows(samples)
    chunks = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, interlaced))
    if palette is not None:
        chunks += _chunk(b"PLTE", bytes(np.asarray(palette, np.uint8).reshape(-1)))
    return b"\x89PNG\r\n\x1a\n" + chunks + _chunk(b"IDAT", zlib.compress(data, 1)) + _chunk(b"IEND", b"")


def _segment(marker, data):
    return bytes([0xff, marker]) + struct.pack(">H", len(data) + 2) + data


def _scan(channels, first, last, bits):
    bits += "1" * (-len(bits) % 8)
    data = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")
    named = b"".join(bytes([c + 1, 0]) for c in channels)
    return _segment(0xda, bytes([len(named) // 2]) + named + bytes([first, last, 0])) + data


def jpeg(blocks, progressive=False):
    """A .jpeg of squares of 8 x 8 pixels of one color each. blocks: of shape (rows, columns, 1), the gray, or
    (rows, columns, 3), the luminance and both chrominances. Values are whole, so gray ones are kept exactly."""
    rows, columns, channels = blocks.shape
    # The constant part of a square is eight times its value less 128; by a quantum of 8 it is that itself.
    tables = _segment(0xdb, b"\0" + bytes([8] * 64))
    components = b"".join(bytes([c + 1, 0x11, 0]) for c in range(channels))
    size = struct.pack(">BHHB", 8, 8 * rows, 8 * columns, channels)
    frame = _segment(0xc2 if progressive else 0xc0, size + components)
    # Codes of four bits for the sizes 0 to 8 of a difference; one of a bit for the end of a square.
    codes = (_segment(0xc4, b"\0" + bytes([0, 0, 0, 9] + [0] * 12) + bytes(range(9))) +
             _segment(0xc4, b"\x10" + bytes([1] + [0] * 15) + b"\0"))
    bits, last = "", [0] * channels
    for block in blocks.reshape(-1, channels).astype(int):
        for c, value in enumerate(block - 128):
            difference, last[c] = value - last[c], value
            size = int(abs(difference)).bit_length()
            bits += format(size, "04b")
            if size:
                bits += format(difference if difference > 0 else difference + (1 << size) - 1, f"0{size}b")
            bits += "" if progressive else "0"
    scans = _scan(range(channels), 0, 0 if progressive else 63, bits)
    if progressive:  # without these the squares would be smoothed
        scans += b"".join(_scan([c], 1, 63, "0" * (rows * columns)) for c in range(channels))
    return b"\xff\xd8" + tables + frame + codes + scans + b"\xff\xd9"
