"""Operators that work element by element, for random models. Each function takes a draft and a value and returns one.

What jumps (rounding, comparisons, choices of the largest) reads only values that all implementations have exactly.
"""
import numpy

import elements
from draft import Unfit, type_of

# Functions of one value by the opset that brought them. The second list has those without rounding.
SMOOTH = {"Elu": 7, "Selu": 7, "Celu": 12, "Sigmoid": 7, "Tanh": 7, "Softplus": 7, "Softsign": 7, "HardSigmoid": 7,
          "HardSwish": 14, "Gelu": 20, "Mish": 18, "Exp": 7, "Log": 7, "Sqrt": 7, "Reciprocal": 7, "Erf": 9, "Sin": 7,
          "Cos": 7, "Tan": 7, "Asin": 7, "Acos": 7, "Atan": 7, "Sinh": 9, "Cosh": 9, "Asinh": 9, "Acosh": 9, "Atanh": 9,
          "Swish": 24}
EXACT = ("Relu", "Abs", "Neg", "Identity", "LeakyRelu")
JUMPING = ("Sign", "Floor", "Ceil", "Round", "ThresholdedRelu", "Shrink")
WITH_ALPHA = ("Elu", "Celu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Swish")


def need(good, why="does not fit"):
    if not good:
        raise Unfit(why)


def need_float(d, x):
    need(elements.is_float(x.dtype))


def attributes_of(d, operator):
    out = {}
    if operator in WITH_ALPHA and d.chance(0.5):
        out["alpha"] = d.of((0.25, 0.5, 1.0, 2.0))
    if operator == "HardSigmoid" and d.chance(0.3):
        out["beta"] = 0.25
    if operator == "Gelu" and d.chance(0.5):
        out["approximate"] = "tanh"
    if operator == "Shrink" and d.chance(0.7):
        out.update(lambd=1.0, bias=d.of((0.0, 0.5)))
    return out


def smooth(d, x):
    need_float(d, x)
    operator = d.of([name for name, since in SMOOTH.items() if since <= d.opset])
    return d.node(operator, [x], **attributes_of(d, operator))


def exact(d, x):
    need_float(d, x)
    operator = d.of(EXACT)
    return d.node(operator, [x], exact=operator != "LeakyRelu",
                  zeros=operator in ("Abs", "Neg", "Identity"), **attributes_of(d, operator))


def jumping(d, x):
    need_float(d, x)
    need(x.exact)
    operator = d.of(JUMPING)
    return d.node(operator, [x], exact=x.dtype == "f4" or operator in JUMPING[:4], **attributes_of(d, operator))


def other_shape(d, shape):
    """A shape that is broadcast to `shape`."""
    kind = d.between(0, 5)
    if kind <= 1 or not shape:
        return shape
    if kind == 2:
        return tuple(d.of((1, n)) for n in shape)
    if kind == 3 and len(shape) > 1:
        return (shape[1],) + (1,) * (len(shape) - 2)
    return shape[-1:] if kind == 4 else d.of(((), (1,)))


def pair(d, x, y, operator, **more):
    """Either order of the sources."""
    return d.node(operator, [x, y] if d.chance(0.6) else [y, x], **more)


def arithmetic(d, x):
    operator = d.of(("Add", "Add", "Sub", "Mul", "Mul", "Div", "PRelu", "Pow"))
    y = d.operand(other_shape(d, x.shape))
    need(y.dtype == x.dtype)
    if operator == "PRelu":
        need_float(d, x)
        return d.node(operator, [x, y], exact=x.dtype == "f4")
    if not elements.is_float(x.dtype):
        need(operator in ("Add", "Sub", "Mul"))
    if operator == "Pow":
        need_float(d, x)
        if d.chance(0.7):
            y = d.fixed(d.of((2, 3, 0.5, -1, 0, 1)), x.dtype)
            return d.node(operator, [x, y])
    return pair(d, x, y, operator, exact=operator in ("Add", "Sub"))


def several(d, x):
    """Sum, Mean, Max and Min of one to four."""
    operator = d.of(("Sum", "Mean", "Max", "Max", "Min", "Min"))
    need(elements.is_float(x.dtype) or operator in ("Max", "Min"))
    sources = [x] + [d.operand(other_shape(d, x.shape), x.dtype) for _ in range(d.between(0, 3))]
    d.rng.shuffle(sources)
    return d.node(operator, sources, exact=operator in ("Max", "Min"))


def clip(d, x):
    need_float(d, x)
    infinity = numpy.inf
    low, high = d.of(((-1, 1), (0, 6), (None, 2), (-0.5, None), (-infinity, infinity), (0, infinity),
                      (-infinity, 0.5)))
    bounds = [None if v is None else d.fixed(v, x.dtype) for v in (low, high)]
    while bounds and bounds[-1] is None:
        bounds.pop()
    return d.node("Clip", [x, *bounds], exact=True)


def remainder(d, x):
    need_float(d, x)
    need(x.exact)
    return d.node("Mod", [x, d.operand(other_shape(d, x.shape), x.dtype)], fmod=1)


def truth(d, x):
    """Comparisons and tests, and what becomes of them."""
    kind = d.between(0, 2)
    need(x.exact)
    if kind == 0 and elements.is_float(x.dtype):
        out = d.node(d.of(("IsNaN", "IsInf")), [x], exact=True)
        need(x.dtype.name in ("float32", "float64"))
    else:
        y = d.operand(other_shape(d, x.shape), x.dtype)
        need(y.exact)
        out = pair(d, x, y, d.of(("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")), exact=True)
    if d.chance(0.3):
        out = d.node("Not", [out], exact=True)
    if d.chance(0.4):
        return d.node("Cast", [out], exact=True, to=type_of(x.dtype))
    y = d.operand(other_shape(d, x.shape), x.dtype)
    return d.node("Where", [out] + ([x, y] if d.chance(0.5) else [y, x]), exact=True, zeros=True)


def where(d, x):
    condition = d.fresh(other_shape(d, x.shape), bool, constant=d.chance(0.5))
    y = d.operand(other_shape(d, x.shape), x.dtype)
    return d.node("Where", [condition] + ([x, y] if d.chance(0.5) else [y, x]), exact=True, zeros=True)


def cast(d, x):
    """To another floating type and back, as mixed precision does, or to integers where no number is beyond them."""
    need_float(d, x)
    need(x.exact)
    other = d.of([t for t in ("f4", "f2", "f8", elements.BF16) if numpy.dtype(t) != x.dtype])
    out = d.node("Cast", [x], exact=True, zeros=True, to=type_of(other))
    return d.node("Cast", [out], exact=True, zeros=True, to=type_of(x.dtype)) if d.chance(0.8) else out


def quantize(d, x):
    """QuantizeLinear and DequantizeLinear; by tensor or by channel."""
    need(x.dtype == numpy.dtype("f4") and x.exact and x.rank > 0)
    axis = d.between(0, x.rank - 1)
    count = () if d.chance(0.5) else (x.shape[axis],)
    kind = d.of((numpy.uint8, numpy.int8))
    scale = d.fresh(count, constant=True, array=numpy.asarray(2.0 ** d.rng.integers(-4, 1, count), "f4"))
    zero = d.fresh(count, kind, constant=True, special=False)
    y = d.node("QuantizeLinear", [x, scale, zero], exact=True, axis=axis)
    return d.node("DequantizeLinear", [y, scale, zero], exact=True, axis=axis) if d.chance(0.7) else y


def gated(d, x):
    """x * sigmoid(x), x * tanh(softplus(x)) and the like as exporters write them."""
    need_float(d, x)
    return pair(d, x, d.node(d.of(("Sigmoid", "Tanh", "HardSigmoid")), [x]), "Mul")


def gelu(d, x):
    """GELU by its formula."""
    need_float(d, x)
    y = d.node("Erf", [d.node("Div", [x, d.fixed(2**0.5, x.dtype)])])
    y = pair(d, d.node("Add", [y, d.fixed(1, x.dtype)]), x, "Mul")
    return d.node("Mul", [y, d.fixed(0.5, x.dtype)])


FUNCTIONS = (smooth, smooth, exact, exact, jumping, arithmetic, arithmetic, several, clip, remainder, truth, where,
             cast, quantize, gated, gelu)
