"""The conversions that bench.py measures, as data.

A `Case` says what becomes of an array: its dims are split (`split`), permuted (`axes`) and merged (`merged`), and in
some cases its elements are converted to another type and scaled. Names of types are relayout's: u8, f16, f32, f64.
"""
import math
import random
from dataclasses import dataclass, field

ITEM_BYTES = {"u8": 1, "f16": 2, "f32": 4, "f64": 8}
TITLES = {
    "images": "rows of pixels to planes, u8",
    "loader": "what a data loader does: pixels of u8 to planes of f32, times 1/255",
    "layouts": "nchw and nhwc, whole batches and single maps",
    "blocks": "nchw to blocks of 16 channels",
    "transpose": "transposes of matrices of about 4096 x 4096, 1 to 8 bytes",
    "permute": "permutations of 3 to 6 dims, f32",
    "attention": "heads of attention, in the notation of einops",
    "rearrange": "patterns of einops that split and merge dims",
    "small": "from 1 KiB on: what a call costs",
}


@dataclass(frozen=True)
class Case:
    """One conversion. Shapes are of the arrays as they lie in memory, row-major on both sides."""
    group: str
    name: str
    shape: tuple               # of the source
    dtype: str
    axes: tuple                # the permutation of the dims of `split`
    split: tuple = None        # the shape of the source after splitting; None where nothing is split
    merged: tuple = None       # the shape of the result; None where nothing is merged
    pattern: str = None        # in einops' notation; where it is given, relayout.rearrange and einops are measured
    sizes: dict = field(default_factory=dict)
    layouts: tuple = None      # source and destination as layout expressions: relayout.convert is measured
    to_dtype: str = None       # the type of the result, where it is another
    scale: float = 1.0

    @property
    def permuted(self):
        dims = self.split or self.shape
        return tuple(dims[axis] for axis in self.axes)

    @property
    def result_shape(self):
        return self.merged or self.permuted

    @property
    def elements(self):
        return math.prod(self.shape)

    @property
    def result_dtype(self):
        return self.to_dtype or self.dtype

    @property
    def bytes(self):
        """Bytes read and written."""
        return self.elements * (ITEM_BYTES[self.dtype] + ITEM_BYTES[self.result_dtype])


def _text(shape):
    return "x".join(map(str, shape))


def _images():
    for shape in ((224, 224, 3), (1080, 1920, 3), (32, 224, 224, 3), (8, 1080, 1920, 3)):
        src = "nhwc"[4 - len(shape):]
        dst = "nchw"[4 - len(shape):]
        axes = (2, 0, 1) if len(shape) == 3 else (0, 3, 1, 2)
        yield Case("images", f"u8 {src} -> {dst} {_text(shape)}", shape, "u8", axes)
        yield Case("loader", f"u8 {src} -> f32 {dst} / 255 {_text(shape)}", shape, "u8", axes, layouts=(src, dst),
                   to_dtype="f32", scale=1 / 255)


def _layouts():
    for n, c, h, w in ((32, 64, 56, 56), (8, 3, 224, 224), (1, 512, 7, 7)):
        for dtype in ("f32", "f16", "u8"):
            yield Case("layouts", f"{dtype} nchw -> nhwc {n}x{c}x{h}x{w}", (n, c, h, w), dtype, (0, 2, 3, 1))
            yield Case("layouts", f"{dtype} nhwc -> nchw {n}x{h}x{w}x{c}", (n, h, w, c), dtype, (0, 3, 1, 2))
    for n, c, h, w in ((32, 64, 56, 56), (1, 512, 7, 7)):
        for dtype in ("f32", "u8"):
            yield Case("blocks", f"{dtype} nchw -> nChw16c {n}x{c}x{h}x{w}", (n, c, h, w), dtype, (0, 1, 3, 4, 2),
                       split=(n, c // 16, 16, h, w), layouts=("nchw", "nChw16c"))


def _transposes():
    for side in (4096, 4095):
        for dtype in ITEM_BYTES:
            yield Case("transpose", f"{dtype} transpose {side}x{side}", (side, side), dtype, (1, 0))


def _permutations():
    for axes in ((0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        yield Case("permute", f"f32 {_text((96, 192, 257))} by {axes}", (96, 192, 257), "f32", axes)
    rng = random.Random(7)
    shapes = ((40, 63, 24, 80), (17, 64, 48, 90), (16, 24, 31, 18, 21), (12, 48, 8, 33, 32), (8, 12, 15, 10, 14, 24),
              (16, 9, 16, 12, 7, 24))
    for shape in shapes:
        for _ in range(2):
            axes = tuple(range(len(shape)))
            while axes[0] == 0 or axes[-2:] == (len(shape) - 2, len(shape) - 1):
                axes = tuple(rng.sample(range(len(shape)), len(shape)))
            yield Case("permute", f"f32 {_text(shape)} by {axes}", shape, "f32", axes)


def _attention():
    for dtype in ("f32", "f16"):
        for b, s, h, d in ((8, 1024, 16, 64), (1, 4096, 32, 128)):
            yield Case("attention", f"{dtype} b s h d -> b h s d {b}x{s}x{h}x{d}", (b, s, h, d), dtype, (0, 2, 1, 3),
                       pattern="b s h d -> b h s d")
            yield Case("attention", f"{dtype} b s h d -> b h d s {b}x{s}x{h}x{d}", (b, s, h, d), dtype, (0, 2, 3, 1),
                       pattern="b s h d -> b h d s")
            yield Case("attention", f"{dtype} b h s d -> b s (h d) {b}x{h}x{s}x{d}", (b, h, s, d), dtype, (0, 2, 1, 3),
                       merged=(b, s, h * d), pattern="b h s d -> b s (h d)")
        yield Case("attention", f"{dtype} b s (three h d) -> three b h s d 8x512x3072", (8, 512, 3072), dtype,
                   (2, 0, 3, 1, 4), split=(8, 512, 3, 16, 64), pattern="b s (three h d) -> three b h s d",
                   sizes={"three": 3, "h": 16})


def _rearrangements():
    yield Case("rearrange", "f32 space to depth, 8x32x128x128", (8, 32, 128, 128), "f32", (0, 1, 3, 5, 2, 4),
               split=(8, 32, 64, 2, 64, 2), merged=(8, 128, 64, 64),
               pattern="b c (h h2) (w w2) -> b (c h2 w2) h w", sizes={"h2": 2, "w2": 2})
    yield Case("rearrange", "f32 depth to space, 8x128x64x64", (8, 128, 64, 64), "f32", (0, 1, 4, 2, 5, 3),
               split=(8, 32, 2, 2, 64, 64), merged=(8, 32, 128, 128),
               pattern="b (c h2 w2) h w -> b c (h h2) (w w2)", sizes={"h2": 2, "w2": 2})
    yield Case("rearrange", "f32 patches of 16, 16x3x224x224", (16, 3, 224, 224), "f32", (0, 2, 4, 3, 5, 1),
               split=(16, 3, 14, 16, 14, 16), merged=(16, 196, 768),
               pattern="b c (h p1) (w p2) -> b (h w) (p1 p2 c)", sizes={"p1": 16, "p2": 16})
    yield Case("rearrange", "f16 windows of 7, 16x56x56x96", (16, 56, 56, 96), "f16", (0, 1, 3, 2, 4, 5),
               split=(16, 8, 7, 8, 7, 96), merged=(1024, 49, 96),
               pattern="b (h p) (w q) c -> (b h w) (p q) c", sizes={"p": 7, "q": 7})
    yield Case("rearrange", "u8 a row of 8 images, 8x256x256x3", (8, 256, 256, 3), "u8", (1, 0, 2, 3),
               merged=(256, 2048, 3), pattern="b h w c -> h (b w) c")


def _small():
    for side in (16, 32, 64, 128, 256, 512):
        yield Case("small", f"f32 transpose {side}x{side}", (side, side), "f32", (1, 0))
    for side in (18, 37, 74, 148, 295):
        yield Case("small", f"u8 hwc -> chw {side}x{side}x3", (side, side, 3), "u8", (2, 0, 1))
    for s in (1, 4, 16, 64, 256):
        yield Case("small", f"f16 b s (h d) -> b h s d 1x{s}x512", (1, s, 512), "f16", (0, 2, 1, 3),
                   split=(1, s, 8, 64), pattern="b s (h d) -> b h s d", sizes={"h": 8})


def all_cases():
    """Every case, in the order of TITLES."""
    made = [*_images(), *_layouts(), *_transposes(), *_permutations(), *_attention(), *_rearrangements(), *_small()]
    order = list(TITLES)
    return sorted(made, key=lambda case: order.index(case.group))
