"""An ONNX model under construction, with the layers that models are made of, as exporters write them.

PyTorch's exporter writes a Linear as MatMul and Add(bias, product), GELU before opset 20 as five nodes, and a
normalization before opset 17 (for RMS: before 23) as seven. Weights are random, drawn from one seed, and scaled so that
values stay of about unit size. Needs PyPI's onnx and NumPy.
"""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": (TensorProto.FLOAT, np.float32), "f16": (TensorProto.FLOAT16, np.float16)}


class Net:
    """Nodes, weights and inputs of one model. Values are the names that ONNX gives them."""

    def __init__(self, name, opset, dtype="f32", seed=1):
        self.name, self.opset = name, opset
        self.element, self.numpy = TYPES[dtype]
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.shared = {}

    def input(self, name, dims, element=None):
        self.inputs.append(helper.make_tensor_value_info(name, element or self.element, dims))
        return name

    def output(self, name, dims):
        self.outputs.append(helper.make_tensor_value_info(name, self.element, dims))

    def add(self, op, *sources, count=1, domain="", **attributes):
        """Adds a node; gives its result's name, or a list of them where it has several."""
        number = len(self.nodes)
        results = ["%s_%d" % (op.lower(), number) + ("_%d" % i if count > 1 else "") for i in range(count)]
        self.nodes.append(helper.make_node(op, list(sources), results, "%s_%d" % (op, number), domain=domain,
                                           **attributes))
        return results[0] if count == 1 else results

    def constant(self, values, dtype=None):
        """A constant of the model's type, or of another one. Equal constants are one."""
        array = np.asarray(values, dtype or self.numpy)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.shared:
            self.shared[key] = "const_%d" % len(self.weights)
            self.weights.append(numpy_helper.from_array(array, self.shared[key]))
        return self.shared[key]

    def ints(self, *values):
        return self.constant(list(values), np.int64)

    def weight(self, *dims, scale=None, mean=0.0):
        """A random weight; unless told otherwise so scaled that a product over dims[1:] keeps the size of values."""
        if scale is None:
            scale = 1 / math.sqrt(max(1, math.prod(dims[1:])))
        array = (mean + scale * self.rng.standard_normal(dims)).astype(self.numpy)
        name = "weight_%d" % len(self.weights)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def linear(self, x, inner, outer, bias=True):
        """A Linear of PyTorch over the last dim: MatMul by the transposed weight, then Add with the bias first."""
        product = self.add("MatMul", x, self.weight(inner, outer, scale=1 / math.sqrt(inner)))
        return self.add("Add", self.weight(outer, scale=0.02), product) if bias else product

    def layer_norm(self, x, width):
        scale, shift = self.weight(width, scale=0.02, mean=1), self.weight(width, scale=0.02)
        if self.opset >= 17:
            return self.add("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-5)
        centred = self.add("Sub", x, self.mean(x))
        variance = self.mean(self.add("Pow", centred, self.constant(2.0)))
        deviation = self.add("Sqrt", self.add("Add", variance, self.constant(1e-5)))
        return self.add("Add", self.add("Mul", self.add("Div", centred, deviation), scale), shift)

    def rms_norm(self, x, width):
        scale = self.weight(width, scale=0.02, mean=1)
        if self.opset >= 23:
            return self.add("RMSNormalization", x, scale, axis=-1, epsilon=1e-5)
        mean = self.mean(self.add("Pow", x, self.constant(2.0)))
        deviation = self.add("Sqrt", self.add("Add", mean, self.constant(1e-5)))
        inverse = self.add("Div", self.constant(1.0), deviation)
        return self.add("Mul", scale, self.add("Mul", x, inverse))

    def mean(self, x):
        if self.opset >= 18:
            return self.add("ReduceMean", x, self.ints(-1), keepdims=1)
        return self.add("ReduceMean", x, axes=[-1], keepdims=1)

    def gelu(self, x):
        if self.opset >= 20:
            return self.add("Gelu", x)
        error = self.add("Erf", self.add("Div", x, self.constant(math.sqrt(2))))
        return self.add("Mul", self.add("Mul", x, self.add("Add", error, self.constant(1.0))), self.constant(0.5))

    def silu(self, x):
        return self.add("Mul", x, self.add("Sigmoid", x))

    def conv(self, x, inner, outer, kernel=3, stride=1, groups=1, bias=True, pads=None):
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        pads = [k // 2 for k in kernel] * 2 if pads is None else pads
        sources = [x, self.weight(outer, inner // groups, *kernel)] + ([self.weight(outer, scale=0.02)] if bias else [])
        return self.add("Conv", *sources, kernel_shape=list(kernel), strides=[stride] * len(kernel), pads=pads,
                        dilations=[1] * len(kernel), group=groups)

    def heads(self, x, batch, length, count, width, last_first=False):
        """From (batch, length, count * width) to (batch, count, length, width), or with the last two exchanged."""
        split = self.add("Reshape", x, self.ints(batch, length, count, width))
        return self.add("Transpose", split, perm=[0, 2, 3, 1] if last_first else [0, 2, 1, 3])

    def attention(self, x, batch, length, count, width, mask=None):
        """Multi-head attention with projections of its own, the keys scaled as PyTorch's exporter has it."""
        inner = count * width
        q = self.heads(self.linear(x, inner, inner), batch, length, count, width)
        k = self.heads(self.linear(x, inner, inner), batch, length, count, width, last_first=True)
        v = self.heads(self.linear(x, inner, inner), batch, length, count, width)
        root = self.constant(width ** -0.25)
        scores = self.add("MatMul", self.add("Mul", q, root), self.add("Mul", k, root))
        if mask is not None:
            scores = self.add("Add", scores, mask)
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), v)
        joined = self.add("Transpose", mixed, perm=[0, 2, 1, 3])
        return self.linear(self.add("Reshape", joined, self.ints(batch, length, inner)), inner, inner)

    def transformer_layer(self, x, batch, length, count, width, mask=None, first=True):
        """Attention and a perceptron of four times the width with residuals; normalized first (ViT) or last (BERT)."""
        inner = count * width

        def perceptron(y):
            return self.linear(self.gelu(self.linear(y, inner, 4 * inner)), 4 * inner, inner)

        if first:
            x = self.add("Add", x, self.attention(self.layer_norm(x, inner), batch, length, count, width, mask))
            return self.add("Add", x, perceptron(self.layer_norm(x, inner)))
        x = self.layer_norm(self.add("Add", self.attention(x, batch, length, count, width, mask), x), inner)
        return self.layer_norm(self.add("Add", perceptron(x), x), inner)

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], producer_name="relayout")
        model.ir_version = min(model.ir_version, 10 if self.opset >= 21 else 8)
        onnx.checker.check_model(model)
        return model
