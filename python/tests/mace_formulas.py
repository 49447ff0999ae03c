"""MACE's images in NumPy, by the formulas of its page: for the tests beside this file.

    texels_of("mace:in_out_channel", x)     # (height, width, 4), with 0 where no element is

They share nothing with the layouts that they are compared with. Where the published page is wrong (height-major and
width-major), they are those of MACE's kernels, mace/ops/opencl/cl/buffer_to_image.cl.
"""
import numpy as np


def up4(n):
    return -(-n // 4)


#: Of each content type the image's (width, height) for extents e, and the (x, y, lane) of the element at index i.
FORMULAS = {
    "mace:in_out_channel": (lambda e: (up4(e[1]) * e[3], e[0] * e[2]),
                            lambda e, i: (i[1] // 4 * e[3] + i[3], i[0] * e[2] + i[2], i[1] % 4)),
    "mace:in_out_height": (lambda e: (e[3] * e[1], e[0] * up4(e[2])),
                           lambda e, i: (i[1] * e[3] + i[3], i[0] * up4(e[2]) + i[2] // 4, i[2] % 4)),
    "mace:in_out_width": (lambda e: (up4(e[3]) * e[1], e[0] * e[2]),
                          lambda e, i: (i[1] * up4(e[3]) + i[3] // 4, i[0] * e[2] + i[2], i[3] % 4)),
    "mace:conv2d_filter": (lambda e: (e[1], e[2] * e[3] * up4(e[0])),
                           lambda e, i: (i[1], (i[0] // 4 * e[2] + i[2]) * e[3] + i[3], i[0] % 4)),
    "mace:dw_conv2d_filter": (lambda e: (e[2] * e[3], up4(e[1])),
                              lambda e, i: (i[2] * e[3] + i[3], i[1] // 4, i[1] % 4)),
    "mace:argument": (lambda e: (up4(e[0]), 1), lambda e, i: (i[0] // 4, 0 * i[0], i[0] % 4)),
    "mace:weight_height": (lambda e: (e[1] * e[2] * e[3], up4(e[0])),
                           lambda e, i: ((i[2] * e[3] + i[3]) * e[1] + i[1], i[0] // 4, i[0] % 4)),
    "mace:weight_width": (lambda e: (up4(e[1]) * e[2] * e[3], e[0]),
                          lambda e, i: ((i[2] * e[3] + i[3]) * up4(e[1]) + i[1] // 4, i[0], i[1] % 4)),
}


def size_of(content, extents):
    """(width, height) in texels."""
    return FORMULAS[content][0](extents)


def texels_of(content, x):
    """The image of an array of n,c,h,w, of o,i,h,w, of 1,i,h,w or of w, as (height, width, 4) of the array's type."""
    width, height = size_of(content, x.shape)
    out = np.zeros((height, width, 4), x.dtype)
    column, row, lane = FORMULAS[content][1](x.shape, np.indices(x.shape))
    out[row, column, lane] = x
    return out


def extents_of(rng, content):
    """Random dims for a content type, with tails of every count of lanes."""
    if content == "mace:argument":
        return (rng.choice([1, 2, 3, 4, 7, 16, 33]),)
    extents = [rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 11]) for _ in range(4)]
    if content.startswith("mace:in_out"):
        extents[0] = rng.choice([1, 2, 3])
    if content == "mace:dw_conv2d_filter":
        extents[0] = 1
    return tuple(extents)
