"""Nets of convolutions: ConvNeXt-T, MobileNetV3-L, a U-Net, a small YOLO, the U-Net of a diffusion model, and a
quantised MobileNet as QDQ. Each function takes a Net and the batch, and fills the Net."""
import math

import numpy as np


def convnext(net, batch, image=224):
    """ConvNeXt-T: depthwise 7x7, a normalization of the channels and a perceptron with channels last."""
    x = net.conv(net.input("image", [batch, 3, image, image]), 3, 96, kernel=4, stride=4, pads=[0] * 4)
    x = channel_norm(net, x, 96)
    width = 96
    for depth, inner in ((3, 96), (3, 192), (9, 384), (3, 768)):
        if inner != width:
            x = net.conv(channel_norm(net, x, width), width, inner, kernel=2, stride=2, pads=[0] * 4)
        width = inner
        for _ in range(depth):
            y = net.add("Transpose", net.conv(x, width, width, kernel=7, groups=width), perm=[0, 2, 3, 1])
            y = net.gelu(net.linear(net.layer_norm(y, width), width, 4 * width))
            y = net.add("Mul", net.weight(width, scale=0.1), net.linear(y, 4 * width, width))
            x = net.add("Add", x, net.add("Transpose", y, perm=[0, 3, 1, 2]))
    x = net.add("Flatten", net.add("GlobalAveragePool", x), axis=1)
    x = net.add("Gemm", net.layer_norm(x, width), net.weight(1000, width), net.weight(1000, scale=0.02), transB=1)
    net.output(x, [batch, 1000])


def channel_norm(net, x, width):
    """A LayerNorm over the channels of nchw: there and back."""
    return net.add("Transpose", net.layer_norm(net.add("Transpose", x, perm=[0, 2, 3, 1]), width), perm=[0, 3, 1, 2])


def hard_swish(net, x):
    if net.opset >= 14:
        return net.add("HardSwish", x)
    clipped = net.add("Clip", net.add("Add", x, net.constant(3.0)), net.constant(0.0), net.constant(6.0))
    return net.add("Div", net.add("Mul", x, clipped), net.constant(6.0))


# Kernel, width within, width behind, squeeze and excite, hard swish, stride.
MOBILE = ((3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1),
          (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
          (3, 184, 80, 0, 1, 1), (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1),
          (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1),
          (5, 960, 160, 1, 1, 1))


def mobilenet(net, batch, image=224):
    """MobileNetV3-Large, batch normalizations folded as exporters do."""
    x = hard_swish(net, net.conv(net.input("image", [batch, 3, image, image]), 3, 16, stride=2))
    width = 16
    for kernel, inner, outer, squeezes, swish, stride in MOBILE:
        act = (lambda v: hard_swish(net, v)) if swish else (lambda v: net.add("Relu", v))
        y = act(net.conv(x, width, inner, kernel=1)) if inner != width else x
        y = act(net.conv(y, inner, inner, kernel=kernel, stride=stride, groups=inner))
        if squeezes:
            few = max(8, inner // 4 // 8 * 8)
            s = net.add("Relu", net.conv(net.add("GlobalAveragePool", y), inner, few, kernel=1))
            y = net.add("Mul", net.add("HardSigmoid", net.conv(s, few, inner, kernel=1), alpha=1 / 6), y)
        y = net.conv(y, inner, outer, kernel=1)
        x = net.add("Add", x, y) if stride == 1 and outer == width else y
        width = outer
    x = hard_swish(net, net.conv(x, width, 960, kernel=1))
    x = net.add("Flatten", net.add("GlobalAveragePool", x), axis=1)
    x = hard_swish(net, net.add("Gemm", x, net.weight(1280, 960), net.weight(1280, scale=0.02), transB=1))
    net.output(net.add("Gemm", x, net.weight(1000, 1280), net.weight(1000, scale=0.02), transB=1), [batch, 1000])


def unet(net, batch, image=128, width=32, depth=3):
    """A U-Net for segmentation: pooled down, convolved up, with the earlier halves joined in."""
    def twice(x, inner, outer):
        return net.add("Relu", net.conv(net.add("Relu", net.conv(x, inner, outer)), outer, outer))

    x = twice(net.input("image", [batch, 3, image, image]), 3, width)
    halves = []
    for _ in range(depth):
        halves.append((x, width))
        x = net.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        x, width = twice(x, width, 2 * width), 2 * width
    for half, outer in reversed(halves):
        up = net.add("ConvTranspose", x, net.weight(width, outer, 2, 2, scale=1 / math.sqrt(width)),
                     net.weight(outer, scale=0.02), kernel_shape=[2, 2], strides=[2, 2])
        x, width = twice(net.add("Concat", half, up, axis=1), 2 * outer, outer), outer
    net.output(net.conv(x, width, 2, kernel=1), [batch, 2, image, image])


def yolo(net, batch, image=320, width=16):
    """A detector like YOLOv8n: SiLU everywhere, blocks that split, a pyramid by Resize, boxes and classes joined."""
    def block(x, inner, outer, kernel=3, stride=1):
        return net.silu(net.conv(x, inner, outer, kernel=kernel, stride=stride))

    def c2f(x, inner, outer, short):
        half = outer // 2
        sizes = [net.ints(half, half)] if net.opset >= 13 else []
        a, b = net.add("Split", block(x, inner, outer, kernel=1), *sizes, count=2, axis=1)
        y = block(block(b, half, half), half, half)
        y = net.add("Add", b, y) if short else y
        return block(net.add("Concat", a, b, y, axis=1), 3 * half, outer, kernel=1)

    def doubled(x):
        return net.add("Resize", x, "", net.constant([1, 1, 2, 2], np.float32), mode="nearest", nearest_mode="floor",
                       coordinate_transformation_mode="asymmetric")

    x = block(block(net.input("image", [batch, 3, image, image]), 3, width, stride=2), width, 2 * width, stride=2)
    levels, inner = [], 2 * width
    for _ in range(3):
        x = c2f(block(x, inner, 2 * inner, stride=2), 2 * inner, 2 * inner, True)
        inner *= 2
        levels.append((x, inner))
    (p3, w3), (p4, w4), (p5, w5) = levels
    pooled = [p5]
    for _ in range(3):
        pooled.append(net.add("MaxPool", pooled[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4))
    p5 = block(net.add("Concat", *pooled, axis=1), 4 * w5, w5, kernel=1)
    p4 = c2f(net.add("Concat", doubled(p5), p4, axis=1), w5 + w4, w4, False)
    p3 = c2f(net.add("Concat", doubled(p4), p3, axis=1), w4 + w3, w3, False)
    found, points = [], 0
    for x, inner, step in ((p3, w3, 8), (p4, w4, 16), (p5, w5, 32)):
        cells = (image // step) ** 2
        points += cells
        heads = [net.conv(block(x, inner, 64), 64, outer, kernel=1) for outer in (64, 80)]
        found.append(net.add("Reshape", net.add("Concat", *heads, axis=1), net.ints(batch, 144, cells)))
    boxes, classes = net.add("Split", net.add("Concat", *found, axis=2), net.ints(64, 80), count=2, axis=1)
    shares = net.add("Transpose", net.add("Reshape", boxes, net.ints(batch, 4, 16, points)), perm=[0, 2, 1, 3])
    distances = net.conv(net.add("Softmax", shares, axis=1), 16, 1, kernel=1, bias=False)
    sides = net.add("Reshape", distances, net.ints(batch, 4, points))
    net.output(net.add("Concat", sides, net.add("Sigmoid", classes), axis=1), [batch, 84, points])


def diffusion(net, batch, image=32, width=64):
    """The U-Net of a diffusion model: group normalization as InstanceNormalization, SiLU, the step's embedding, and
    attention in the middle."""
    x = net.conv(net.input("sample", [batch, 4, image, image]), 4, width)
    step = net.input("embedding", [batch, 4 * width])

    def group_norm(x, inner, side):
        folded = net.add("Reshape", x, net.ints(batch, 32, -1))
        ones, zeros = net.constant(np.ones(32)), net.constant(np.zeros(32))
        normal = net.add("Reshape", net.add("InstanceNormalization", folded, ones, zeros, epsilon=1e-5),
                         net.ints(batch, inner, side, side))
        scaled = net.add("Mul", normal, net.weight(inner, 1, 1, scale=0.02, mean=1))
        return net.add("Add", scaled, net.weight(inner, 1, 1, scale=0.02))

    def residual(x, inner, outer, side):
        y = net.conv(net.silu(group_norm(x, inner, side)), inner, outer)
        shift = net.add("Gemm", net.silu(step), net.weight(outer, 4 * width), net.weight(outer, scale=0.02), transB=1)
        y = net.add("Add", y, net.add("Reshape", shift, net.ints(batch, outer, 1, 1)))
        y = net.conv(net.silu(group_norm(y, outer, side)), outer, outer)
        return net.add("Add", net.conv(x, inner, outer, kernel=1) if inner != outer else x, y)

    def middle(x, inner, side):
        flat = net.add("Transpose", net.add("Reshape", group_norm(x, inner, side), net.ints(batch, inner, -1)),
                       perm=[0, 2, 1])
        y = net.transformer_layer(flat, batch, side * side, inner // 32, 32)
        y = net.add("Reshape", net.add("Transpose", y, perm=[0, 2, 1]), net.ints(batch, inner, side, side))
        return net.add("Add", y, x)

    x = residual(x, width, width, image)
    early, side = x, image // 2
    x = residual(net.conv(x, width, width, stride=2), width, 2 * width, side)
    x = residual(middle(x, 2 * width, side), 2 * width, 2 * width, side)
    x = net.add("Resize", x, "", net.constant([1, 1, 2, 2], np.float32), mode="nearest", nearest_mode="floor",
                coordinate_transformation_mode="asymmetric")
    x = residual(net.add("Concat", x, early, axis=1), 3 * width, width, image)
    net.output(net.conv(net.silu(group_norm(x, width, image)), width, 4), [batch, 4, image, image])


def quantised(net, batch, image=224):
    """A MobileNet as QDQ: u8 values with one scale, s8 weights with a scale for each output channel."""
    zero, step = net.constant(128, np.uint8), net.constant(0.04, np.float32)

    def through(x):
        return net.add("DequantizeLinear", net.add("QuantizeLinear", x, step, zero), step, zero)

    def layer(x, inner, outer, kernel, stride=1, groups=1):
        shape = (outer, inner // groups, kernel, kernel)
        whole = net.rng.integers(-127, 128, shape).astype(np.int8)
        scales = np.full(outer, 1 / (73 * math.sqrt(math.prod(shape[1:]))), np.float32)
        weights = net.add("DequantizeLinear", net.constant(whole, np.int8), net.constant(scales, np.float32),
                          net.constant(np.zeros(outer), np.int8), axis=0)
        y = net.add("Conv", x, weights, net.weight(outer, scale=0.02), kernel_shape=[kernel] * 2, strides=[stride] * 2,
                    pads=[kernel // 2] * 4, group=groups)
        return through(net.add("Relu", y))

    x = layer(through(net.input("image", [batch, 3, image, image])), 3, 32, 3, 2)
    width = 32
    for outer, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (1024, 2)):
        x = layer(layer(x, width, width, 3, stride, width), width, outer, 1)
        width = outer
    x = net.add("Flatten", through(net.add("GlobalAveragePool", x)), axis=1)
    net.output(net.add("Gemm", x, net.weight(1000, width), net.weight(1000, scale=0.02), transB=1), [batch, 1000])
