"""Layouts once more, in a few lines of Python that share nothing with the library: what the command is
checked against. Tags are in letters a..l; formulas of images are those of the published table."""
import itertools
import math
import re


def parse(tag):
    """(outer dims, outermost first; [(dim, size)] of the inner blocks, outermost first)"""
    outer, inner = re.fullmatch(r"([a-lA-L]+)((?:[0-9]+[a-l])*)", tag).groups()
    blocks = [(ord(letter) - ord("a"), int(size)) for size, letter in re.findall(r"([0-9]+)([a-l])", inner)]
    return [ord(letter.lower()) - ord("a") for letter in outer], blocks


def physical_shape(tag, dims):
    outer, blocks = parse(tag)
    block = [math.prod(size for d, size in blocks if d == dim) for dim in range(len(dims))]
    return tuple(-(-dims[d] // block[d]) for d in outer) + tuple(size for _, size in blocks)


def offset(tag, dims, index):
    """Row-major over the physical array: walk its axes from the inside, taking digits off each index."""
    outer, blocks = parse(tag)
    shape = physical_shape(tag, dims)
    axes = [(d, None) for d in outer] + blocks
    rest, out, stride = list(index), 0, 1
    for (dim, size), extent in reversed(list(zip(axes, shape))):
        digit = rest[dim] if size is None else rest[dim] % size
        if size is not None:
            rest[dim] //= size
        out += digit * stride
        stride *= extent
    return out


def indices(dims):
    return itertools.product(*(range(extent) for extent in dims))


def flat_index(dims, index):
    """The row-major number of a logical index."""
    out = 0
    for extent, i in zip(dims, index):
        out = out * extent + i
    return out


def up(a, b):
    return -(-a // b)


# MACE's images: dims -> (width, height), (dims, index) -> (x, y, lane).
IMAGES = {
    "mace:in_out_channel": (lambda n, c, h, w: (w * up(c, 4), n * h),
                            lambda N, C, H, W, n, c, h, w: (c // 4 * W + w, n * H + h, c % 4)),
    "mace:in_out_height": (lambda n, c, h, w: (w * c, n * up(h, 4)),
                           lambda N, C, H, W, n, c, h, w: (c * W + w, n * up(H, 4) + h // 4, h % 4)),
    "mace:in_out_width": (lambda n, c, h, w: (up(w, 4) * c, n * h),
                          lambda N, C, H, W, n, c, h, w: (c * up(W, 4) + w // 4, n * H + h, w % 4)),
    "mace:conv2d_filter": (lambda o, i, h, w: (i, h * w * up(o, 4)),
                           lambda O, I, H, W, o, i, h, w: (i, (o // 4 * H + h) * W + w, o % 4)),
    "mace:weight_height": (lambda o, i, h, w: (i * h * w, up(o, 4)),
                           lambda O, I, H, W, o, i, h, w: ((h * W + w) * I + i, o // 4, o % 4)),
    "mace:weight_width": (lambda o, i, h, w: (up(i, 4) * h * w, o),
                          lambda O, I, H, W, o, i, h, w: ((h * W + w) * up(I, 4) + i // 4, o, i % 4)),
    "mace:dw_conv2d_filter": (lambda m, i, h, w: (h * w * m, up(i, 4)),
                              lambda M, I, H, W, m, i, h, w: (h * W + w, i // 4, i % 4)),
}

# Tags with their ranks, for tests.
TAGS = [("abcd", 4), ("acdb", 4), ("bcda", 4), ("aBcd8b", 4), ("aBcd16b", 4), ("ABcd4b16a4b", 4), ("BA16a64b", 2),
        ("ba", 2), ("abc", 3), ("aCb3c", 3), ("AbC2a3c2a", 3), ("aBCde4c8b2c", 5), ("Acdb16a", 4), ("dcba", 4),
        ("ABcd16b16a2b", 4), ("abcdefghijkl", 12), ("lkjihgfedcba", 12), ("a", 1), ("A4a", 1)]
