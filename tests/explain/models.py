#!/usr/bin/env python3
"""Tests of `relayout explain MODEL.onnx --fix NEW.onnx` on models that are made here.

    models.py RELAYOUT [--measure]      exit 77 where the package onnx or onnxruntime is absent

Each model is fixed; ONNX Runtime, without its own optimisations, runs the file and the new one on the same inputs, and
their outputs must agree. A model's entry says how many transpositions the new one may have at most. With --measure the
times of Transpose nodes in both, by ONNX Runtime's profile, are printed, which no test looks at.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"explain_models: skipped, {missing}")
    sys.exit(77)

RANDOM = np.random.default_rng(7)
TO_LAST, TO_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]
MODELS = {}


class Net:
    """A model under construction: operators by name, each with one result."""

    def __init__(self, **inputs):
        self.nodes, self.constants, self.count = [], [], 0
        self.inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs.items()]

    def constant(self, value, dtype=np.float32):
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), f"c{self.count}"))
        return f"c{self.count}"

    def random(self, *dims):
        return self.constant(RANDOM.standard_normal(dims) * 0.3)

    def op(self, kind, *sources, outputs=1, **attributes):
        self.count += 1
        names = [f"{kind.lower()}{self.count}" + (f"_{k}" if k else "") for k in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(sources), names, name=f"{kind}_{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def last(self, x):
        return self.op("Transpose", x, perm=TO_LAST)

    def first(self, x):
        return self.op("Transpose", x, perm=TO_FIRST)

    def conv(self, x, channels_in, channels_out, stride=1):
        return self.op("Conv", x, self.random(channels_out, channels_in, 3, 3), pads=[1, 1, 1, 1],
                       strides=[stride, stride])

    def model(self, *outputs):
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "net", self.inputs, values, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        inferred = onnx.shape_inference.infer_shapes(model)
        for made, stated in zip(model.graph.output, inferred.graph.output):
            made.CopyFrom(stated)
        return model


def case(most):
    """A model, whose fixed form may have `most` transpositions."""

    def add(make):
        MODELS[make.__name__] = (make, most)
        return make

    return add


@case(0)
def pair():
    net = Net(x=[1, 8, 12, 10])
    return net.model(net.conv(net.first(net.last(net.conv("x", 8, 8))), 8, 8))


@case(0)
def pair_round_relu():
    net = Net(x=[1, 8, 12, 10])
    return net.model(net.conv(net.first(net.op("Relu", net.last(net.conv("x", 8, 8)))), 8, 4))


@case(0)
def elementwise_chain():
    net = Net(x=[2, 6, 5, 7])
    y = net.op("Sigmoid", net.last("x"))
    for kind in ("Tanh", "Abs", "Exp", "Neg"):
        y = net.op(kind, y)
    return net.model(net.first(net.op("Clip", y, net.constant(-0.5), net.constant(0.5))))


@case(0)
def channel_scale():
    net = Net(x=[2, 6, 5, 7])
    y = net.op("Mul", net.last("x"), net.random(6))  # of the last dim, broadcast
    return net.model(net.first(net.op("Add", y, net.random(1, 1, 1, 6))))


@case(0)
def residual():
    net = Net(x=[1, 8, 12, 10])
    a = net.conv("x", 8, 8)
    b = net.op("Relu", net.last(a))
    return net.model(net.first(net.op("Add", net.last(a), b)))


@case(0)
def residual_of_three():
    net = Net(x=[1, 8, 12, 10])
    a, b, c = (net.last(net.conv("x", 8, 8)) for _ in range(3))
    return net.model(net.conv(net.first(net.op("Sum", net.op("Mul", a, b), c)), 8, 8))


@case(0)
def concat():
    net = Net(x=[1, 8, 12, 10])
    a, b = net.last(net.conv("x", 8, 4)), net.last(net.conv("x", 8, 6))
    return net.model(net.conv(net.first(net.op("Concat", a, b, axis=3)), 10, 4))


@case(0)
def concat_negative_axis():
    net = Net(x=[1, 8, 12, 10])
    a, b = net.last(net.conv("x", 8, 4)), net.last(net.conv("x", 8, 6))
    return net.model(net.conv(net.first(net.op("Concat", a, b, axis=-1)), 10, 4))


@case(0)
def split():
    net = Net(x=[1, 8, 12, 10])
    a, b = net.op("Split", net.last("x"), net.constant([3, 5], np.int64), outputs=2, axis=3)
    return net.model(net.conv(net.first(a), 3, 4), net.conv(net.first(b), 5, 4))


@case(0)
def padding():
    net = Net(x=[1, 8, 12, 10])
    y = net.op("Pad", net.last("x"), net.constant([0, 1, 2, 3, 0, 4, 0, 1], np.int64))
    return net.model(net.conv(net.first(y), 12, 4))


@case(0)
def slicing():
    net = Net(x=[1, 8, 12, 10])
    y = net.op("Slice", net.last("x"), net.constant([1, 2], np.int64), net.constant([9, 7], np.int64),
               net.constant([2, 3], np.int64))
    return net.model(net.conv(net.first(y), 5, 4))


@case(0)
def squeeze_and_excite():
    net = Net(x=[1, 8, 12, 10])
    y = net.last(net.conv("x", 8, 8))
    scale = net.op("Sigmoid", net.op("ReduceMean", y, axes=[1, 2], keepdims=1))
    return net.model(net.conv(net.first(net.op("Mul", y, scale)), 8, 4))


@case(0)
def still():
    net = Net(x=[1, 8, 1, 1])
    return net.model(net.op("Relu", net.last("x")))


@case(0)
def reshape_between():
    net = Net(x=[2, 6, 5, 7])
    y = net.op("Reshape", net.last("x"), net.constant([2, 35, 6], np.int64))
    return net.model(net.op("Relu", net.op("Transpose", y, perm=[0, 2, 1])))


@case(0)
def gemm():
    net = Net(x=[7, 12])
    return net.model(net.op("Gemm", net.op("Transpose", "x", perm=[1, 0]), net.random(7, 5)))


@case(0)
def matmul_of_constant():
    net = Net(x=[7, 12])
    return net.model(net.op("MatMul", "x", net.op("Transpose", net.random(5, 12), perm=[1, 0])))


@case(1)
def one_that_is_needed():
    net = Net(x=[1, 8, 12, 10])
    return net.model(net.op("Softmax", net.last(net.conv("x", 8, 8)), axis=3))


@case(1)
def smaller_one():
    """The transposition of a concat of two that are made of one is cheaper than of each; one is left."""
    net = Net(x=[1, 8, 12, 10], y=[1, 8, 12, 10])
    both = net.op("Add", net.last("x"), net.last("y"))
    return net.model(net.op("Softmax", both, axis=3))


@case(0)
def two_outputs():
    net = Net(x=[1, 8, 12, 10])
    y = net.op("Relu", net.last(net.conv("x", 8, 8)))
    return net.model(net.first(y), net.conv(net.first(net.op("Neg", y)), 8, 4))


@case(0)
def u_net():
    """Two transpositions far apart: round the joining of the way down and the way up."""
    net = Net(x=[1, 4, 16, 16])
    a = net.last(net.op("Relu", net.conv("x", 4, 8)))
    down = net.conv(net.first(a), 8, 16, stride=2)
    up = net.op("ConvTranspose", down, net.random(16, 8, 2, 2), strides=[2, 2])
    joined = net.op("Concat", a, net.last(up), axis=3)
    shifted = net.op("Add", joined, net.random(16))
    return net.model(net.conv(net.first(net.op("LeakyRelu", shifted, alpha=0.1)), 16, 4))


def session(path, profile=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, str(profile)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def outputs(path, inputs):
    return session(path).run(None, inputs)


def transpose_time(path, inputs, folder):
    """Milliseconds of Transpose nodes in a run, by ONNX Runtime's profile: the least of ten."""
    run = session(path, folder / "profile")
    times = []
    for _ in range(11):
        run.run(None, inputs)
    events = json.loads(Path(run.end_profiling()).read_text())
    each = {}
    for event in events:
        if event.get("args", {}).get("op_name") == "Transpose":
            each.setdefault(event["name"], []).append(event["dur"] / 1e3)
    times = [min(durations) for durations in each.values()]
    return sum(times)


def inputs_of(model):
    return {i.name: RANDOM.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim]).astype(np.float32)
            for i in model.graph.input}


def check_fix(relayout, model, source, fixed):
    """What is wrong with the new model of a file, or None; the numbers of transpositions before and after, and the
    report."""
    result = subprocess.run([relayout, "explain", str(source), "--fix", str(fixed), "--json"], capture_output=True,
                            text=True, timeout=120)
    if result.returncode != 0:
        return result.stderr.strip(), None, None
    report = json.loads(result.stdout)
    new = onnx.load(fixed)
    onnx.checker.check_model(new, full_check=True)
    count = [sum(node.op_type == "Transpose" for node in m.graph.node) for m in (model, new)]
    if report["fix"]["after"] != count[1] or report["fix"]["before"] != count[0] or count[1] > count[0]:
        return f"{count[1]} transpositions of {count[0]}, and the report says {report['fix']}", None, None
    if report["fix"]["after_ms"] > report["fix"]["before_ms"]:
        return "predicted time rises", None, None
    if len(report["reorders"]) != count[0]:
        return f"the report has {len(report['reorders'])} of {count[0]} transpositions", None, None
    inputs = inputs_of(model)
    for a, b in zip(outputs(source, inputs), outputs(fixed, inputs), strict=True):
        if a.shape != b.shape or not np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True):
            apart = np.abs(a - b).max() if a.shape == b.shape else (a.shape, b.shape)
            return f"outputs differ by {apart}", None, None
    return None, count, report


def check(relayout, name, folder, measure):
    make, most = MODELS[name]
    model = make()
    source, fixed = folder / f"{name}.onnx", folder / f"{name}_fixed.onnx"
    onnx.save(model, source)
    failure, count, report = check_fix(relayout, model, source, fixed)
    if failure:
        return f"{name}: {failure}"
    if count[1] > most:
        return f"{name}: {count[1]} transpositions of {count[0]}, at most {most}"
    verdicts = [r["verdict"] for r in report["reorders"]]
    if most == 0 and set(verdicts) != {"avoidable"} or most > 0 and count[0] == most and "avoidable" in verdicts:
        return f"{name}: verdicts are {verdicts}"
    if measure:
        inputs = inputs_of(model)
        print(f"{name:22} {count[0]} -> {count[1]} transpositions, "
              f"{transpose_time(source, inputs, folder):.4f} -> {transpose_time(fixed, inputs, folder):.4f} ms")
    return None


def main():
    relayout = str(Path(sys.argv[1]).resolve())
    assert len(MODELS) == 20
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            failure = check(relayout, name, Path(folder), "--measure" in sys.argv)
            if failure:
                failures.append(failure)
                print("FAILED:", failure)
    print(f"explain_models: {len(MODELS)} models, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
