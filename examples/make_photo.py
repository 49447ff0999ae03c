#!/usr/bin/env python3
"""Renders examples/photo.png: the sun going down over the sea. Needs NumPy.

    examples/make_photo.py [OUT.png]

Every pixel is computed here: a sky with layers of noise for clouds, ranges of hills that fade into
the haze, and water whose waves mirror that sky. The seeds are fixed; the same picture comes out
each time.
"""
import struct
import sys
import zlib
from pathlib import Path

import numpy as np

WIDTH, HEIGHT = 640, 427
OVERSAMPLE = 2
HORIZON = 0.60           # of the height, from the top
SUN = (0.665, 0.475)     # x and y of its centre, as parts of width and height
ASPECT = WIDTH / HEIGHT


def smooth(edge0, edge1, x):
    t = np.clip((x - edge0) / (edge1 - edge0), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def hashed(ix, iy, seed):
    """A number in 0..1 for each lattice point."""
    h = (ix * 374761393 + iy * 668265263 + seed * 2147483647) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
    h = ((h ^ (h >> 16)) * 2246822519) & 0xFFFFFFFF
    return ((h ^ (h >> 15)) & 0xFFFFFF) / 0xFFFFFF


def noise(x, y, seed):
    """Value noise in 0..1 with smooth steps between lattice points."""
    fx, fy = np.floor(x), np.floor(y)
    ix, iy = fx.astype(np.int64), fy.astype(np.int64)
    tx, ty = x - fx, y - fy
    tx, ty = tx ** 3 * (tx * (6 * tx - 15) + 10), ty ** 3 * (ty * (6 * ty - 15) + 10)
    top = hashed(ix, iy, seed) * (1 - tx) + hashed(ix + 1, iy, seed) * tx
    bottom = hashed(ix, iy + 1, seed) * (1 - tx) + hashed(ix + 1, iy + 1, seed) * tx
    return top * (1 - ty) + bottom * ty


def fractal(x, y, seed, octaves=6, gain=0.5):
    total, weight, amplitude = 0.0, 0.0, 1.0
    for octave in range(octaves):
        total = total + amplitude * noise(x, y, seed + octave)
        weight += amplitude
        amplitude *= gain
        x, y = 2.03 * x + 0.37 * y + 17.1, 2.03 * y - 0.37 * x + 9.7
    return total / weight


def mix(a, b, t):
    t = np.asarray(t)[..., None]
    return np.asarray(a) * (1 - t) + np.asarray(b) * t


def gradient(t, stops):
    """Colour at t along (position, colour) stops."""
    positions = [position for position, _ in stops]
    return np.stack([np.interp(t, positions, [colour[c] for _, colour in stops]) for c in range(3)], axis=-1)


def sky(x, y):
    """Linear light of the sky at screen x (0..aspect) and y (0 top .. HORIZON), without the sun's disc."""
    up = np.clip(1.0 - y / HORIZON, 0.0, 1.0)      # 0 at the horizon, 1 at the top
    dx, dy = x - SUN[0] * ASPECT, (y - SUN[1]) * 1.15
    distance = np.sqrt(dx * dx + dy * dy)
    colour = gradient(up, [(0.00, (1.05, 0.42, 0.13)), (0.10, (0.98, 0.45, 0.19)), (0.26, (0.72, 0.40, 0.30)),
                           (0.48, (0.36, 0.32, 0.42)), (0.75, (0.135, 0.19, 0.36)), (1.00, (0.055, 0.10, 0.24))])
    side = np.exp(-np.abs(dx) * 1.1)
    colour = colour * (0.55 + 0.45 * side)[..., None]
    glow = 0.95 * np.exp(-distance * 9.0) + 0.34 * np.exp(-distance * 3.0)
    colour = colour + glow[..., None] * np.array([1.0, 0.52, 0.17])

    # Clouds on a plane overhead: towards the horizon they crowd together and flatten into bands.
    depth = 1.0 / (up * 0.85 + 0.10)
    u, v = (x - 0.5 * ASPECT) * depth * 1.05 + 3.0, depth * 2.3
    warp = fractal(u * 0.7, v * 0.7, 31, 4)
    density = fractal(u * 0.95 + 1.8 * warp, v * 1.2 + 0.9 * warp, 7, 7, 0.52)
    cover = smooth(0.50, 0.72, density) * smooth(0.02, 0.16, up) * 0.92
    shifted = fractal(u * 0.95 + 1.8 * warp, (v + 0.10) * 1.2 + 0.9 * warp, 7, 5, 0.52)
    lit = np.clip(shifted - density, -0.1, 0.1) * 5 + 0.5
    near_sun = np.exp(-distance * 1.9)
    dark = mix((0.115, 0.11, 0.19), (0.33, 0.14, 0.13), near_sun)
    bright = mix((0.62, 0.34, 0.33), (1.65, 0.70, 0.25), near_sun)
    clouds = mix(dark, bright, np.clip(lit * (1.15 - 0.7 * smooth(0.62, 0.85, density)), 0, 1))
    return mix(colour, clouds, cover)


def hills(colour, x, y):
    """Four ranges, far to near, each darker and less hazy; their feet stand at the horizon."""
    ranges = [  # height, frequency, seed, colour, where they fade out on the sun's side
        (0.115, 1.7, 11, (0.53, 0.27, 0.21), (1.22, 0.62)),
        (0.100, 2.3, 23, (0.315, 0.165, 0.165), (0.98, 0.45)),
        (0.085, 3.1, 41, (0.135, 0.082, 0.108), (0.72, 0.20)),
        (0.100, 4.4, 57, (0.030, 0.025, 0.042), (0.46, 0.02)),
    ]
    for height, frequency, seed, tint, (end, start) in ranges:
        column = x[0]
        shape = fractal(column * frequency, np.full_like(column, seed * 1.37), seed, 7, 0.47)
        envelope = 1.0 - smooth(start, end, column)
        right = smooth(1.34, 1.60, column) * (0.75 if seed in (23, 41) else 0.3 if seed == 11 else 0.0)
        ridge = HORIZON - height * (0.25 + 1.25 * shape) * np.maximum(envelope, right)
        inside = y > ridge[None, :]
        haze = np.clip((y - ridge[None, :]) / 0.10, 0, 1) * 0.30
        foot = mix(tint, (0.62, 0.31, 0.20), haze * (0.25 if seed == 57 else 0.75))
        colour = np.where((inside & (y < HORIZON))[..., None], foot, colour)
    return colour


def sea(x, y):
    """Water below the horizon: each pixel mirrors the sky where its wave points."""
    below = np.clip((y - HORIZON) / (1 - HORIZON), 1e-4, 1)
    z = 1.0 / (below + 0.012)                     # distance
    u, v = (x - 0.5 * ASPECT) * z, z
    def waves(u, v):
        swell = fractal(u * 1.7 + 0.6 * v, v * 4.2, 71, 4, 0.55)
        chop = fractal(u * 7.0 - 1.3 * v, v * 15.0, 83, 4, 0.58)
        return 0.62 * swell + 0.38 * chop
    step = 0.012
    height = waves(u, v)
    slope_v = (waves(u, v + step) - height) / step
    slope_u = (waves(u + step, v) - height) / step
    calm = 1.0 / (1.0 + 0.22 * z)                 # far waves average out
    mirror_y = HORIZON - (y - HORIZON) * 0.92 - np.abs(slope_v) * 0.060 * (0.25 + calm) - 0.008
    mirror_x = x + slope_u * 0.035 * calm
    mirrored = sky(mirror_x, np.clip(mirror_y, 0.0, HORIZON))
    facing = np.clip(1.0 - below * 0.62 - 0.10 * slope_v * calm, 0.16, 1.0)
    deep = np.array([0.012, 0.034, 0.062])
    colour = mirrored * (0.80 * facing)[..., None] + deep * (1 - facing)[..., None]

    # The sun's path: wave faces that happen to throw the disc at the camera.
    spread = 0.020 + 0.105 * below
    path = np.exp(-(((x - SUN[0] * ASPECT) + slope_u * 0.012) / spread) ** 2)
    sparkle = smooth(0.44, 0.66, height + 0.16 * (1 - below)) * (0.30 + 0.70 * np.clip(0.5 + 0.22 * slope_v, 0, 1))
    colour = colour + (path * sparkle * (1.75 - 0.95 * below))[..., None] * np.array([1.35, 0.66, 0.24])
    glow = 0.55 * np.exp(-below * 46.0) * np.exp(-np.abs(x - SUN[0] * ASPECT) * 1.2)
    return mix(colour, np.array([0.86, 0.42, 0.20]), glow)


def render():
    w, h = WIDTH * OVERSAMPLE, HEIGHT * OVERSAMPLE
    x, y = np.meshgrid((np.arange(w) + 0.5) / h, (np.arange(h) + 0.5) / h)
    x = x * (ASPECT / (w / h))
    colour = sky(x, y)
    dx, dy = x - SUN[0] * ASPECT, y - SUN[1]
    disc = 1.0 - smooth(0.0330, 0.0345, np.sqrt(dx * dx + dy * dy))
    colour = mix(colour, np.array([2.6, 1.75, 0.85]), disc)
    colour = hills(colour, x, y)
    water = y >= HORIZON
    colour = np.where(water[..., None], sea(x, np.maximum(y, HORIZON)), colour)
    colour = colour.reshape(HEIGHT, OVERSAMPLE, WIDTH, OVERSAMPLE, 3).mean(axis=(1, 3))

    # Film: a soft shoulder, a little vignette, and a grain too fine to see but not to test with.
    yy, xx = np.mgrid[0:HEIGHT, 0:WIDTH]
    vignette = 1.0 - 0.30 * (((xx / WIDTH - 0.5) * 1.25) ** 2 + ((yy / HEIGHT - 0.5) * 1.15) ** 2)
    exposed = 1.0 - np.exp(-1.22 * np.clip(colour, 0, None) * vignette[..., None])
    encoded = np.where(exposed <= 0.0031308, 12.92 * exposed, 1.055 * exposed ** (1 / 2.4) - 0.055)
    grain = (hashed(xx, yy, 97) - 0.5) * 1.6
    return np.clip(np.rint(encoded * 255 + grain[..., None]), 0, 255).astype(np.uint8)


def png_bytes(pixels):
    """An RGB PNG; each row takes the filter whose result is smallest, as the PNG book advises."""
    height, width, _ = pixels.shape
    rows = pixels.reshape(height, -1).astype(np.int16)
    out = bytearray()
    previous = np.zeros_like(rows[0])
    for row in rows:
        left = np.concatenate([np.zeros(3, np.int16), row[:-3]])
        corner = np.concatenate([np.zeros(3, np.int16), previous[:-3]])
        estimate = left + previous - corner
        da, db, dc = abs(estimate - left), abs(estimate - previous), abs(estimate - corner)
        paeth = np.where((da <= db) & (da <= dc), left, np.where(db <= dc, previous, corner))
        tries = [(row - guess).astype(np.uint8)
                 for guess in (0, left, previous, (left + previous) // 2, paeth)]
        best = min(range(5), key=lambda k: int(abs(tries[k].view(np.int8).astype(int)).sum()))
        out += bytes([best]) + tries[best].tobytes()
        previous = row

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"sRGB", b"\0") +
            chunk(b"IDAT", zlib.compress(bytes(out), 9)) + chunk(b"IEND", b""))


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("photo.png")
    path.write_bytes(png_bytes(render()))
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
