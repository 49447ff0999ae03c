"""What ONNX's reference implementation and ONNX Runtime make of a model, node by node.

Where both differ for a node, either answer is right, but a later node sees only one of them. So there are three chains
of nodes: one by the reference alone, one by ONNX Runtime alone, and one that goes on from what relayout chose, which
must be one of the two for each element.
"""
import dataclasses
import functools

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import elements
import rules
from draft import type_of

onnxruntime.set_default_logger_severity(4)


class Wrong(Exception):
    """relayout gives what neither of the two gives."""


def alone(node, given, results, opset):
    """A model of one node. `results` are the values that it makes."""
    info = helper.make_tensor_value_info
    values = {v.name: v for v in results}
    fixed = {n: a for n, a in given.items() if n.startswith("c")}
    graph = helper.make_graph(
        [node], "alone", [info(n, type_of(a.dtype), a.shape) for n, a in given.items() if n not in fixed],
        [info(n, type_of(values[n].dtype), values[n].shape) for n in node.output],
        [numpy_helper.from_array(a, n) for n, a in fixed.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 10
    return model


def by_reference(model, given):
    try:
        with numpy.errstate(all="ignore"):
            out = ReferenceEvaluator(model).run(None, given)
    except Exception:  # of any kind, as it runs on whatever types NumPy brings
        return None
    kinds = [helper.tensor_dtype_to_np_dtype(o.type.tensor_type.elem_type) for o in model.graph.output]
    out = [numpy.asarray(a) for a in out]
    shapes = [tuple(d.dim_value for d in o.type.tensor_type.shape.dim) for o in model.graph.output]
    return out if all(a.dtype == k and a.shape == s for a, k, s in zip(out, kinds, shapes)) else None


def session_of(model, optimized=False):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def by_runtime(model, given):
    if any(a.dtype == elements.BF16 for a in given.values()):  # which its Python interface does not take
        return None
    try:
        return session_of(model).run(None, given)
    except Exception:  # its exceptions have no common base
        return None


def widened(array):
    """The same in float32, if it is another floating type."""
    return array.astype("f4") if elements.is_float(array.dtype) else array


def equal(a, b, value):
    out = elements.same(a, b, value.exact, value.zeros) | rules.near_overflow(a, b)
    return out | rules.flushed(a, b) if value.narrowed else out


class Chains:
    """The three chains of a model; `ours` runs one node's model by relayout."""

    def __init__(self, draft, model, ours):
        self.draft, self.ours = draft, ours
        self.differing = []
        inputs = {**draft.inputs, **draft.constants}
        self.reference, self.runtime, self.chosen = dict(inputs), dict(inputs), dict(inputs)
        self.marked = {n: numpy.zeros(a.shape, bool) for n, a in inputs.items()}
        narrowed = any(v.dtype in (elements.BF16, numpy.dtype("f8")) for v in draft.values)
        for value in draft.values:
            value.narrowed = narrowed
        self.values = {v.name: v for v in draft.values}
        for node in model.graph.node:
            self.step(node)

    def reference_of(self, node, given):
        """What the reference, or a rule in its place, makes of a node."""
        results = [self.values[n] for n in node.output]

        def run(first=None):
            known = given if first is None else {**given, node.input[0]: first}
            return by_reference(alone(node, known, results, self.draft.opset),
                                {n: a for n, a in known.items() if not n.startswith("c")})

        return rules.replaced(node, given, [v.shape for v in results], run) or run()

    def wide_runtime_of(self, node, given):
        """What ONNX Runtime makes of a node in float32."""
        wide = onnx.NodeProto()
        wide.CopyFrom(node)
        for attribute in wide.attribute:
            if attribute.name == "to" and attribute.i in map(type_of, elements.FLOATS):
                attribute.i = type_of("f4")
        kinds = [dataclasses.replace(v, dtype=numpy.dtype("f4")) if elements.is_float(v.dtype) else v
                 for v in (self.values[n] for n in node.output)]
        with numpy.errstate(all="ignore"):
            wider = {n: widened(a) for n, a in given.items()}
        return by_runtime(alone(wide, wider, kinds, self.draft.opset),
                          {n: a for n, a in wider.items() if not n.startswith("c")})

    def runtime_of(self, node, given):
        """What ONNX Runtime makes of a node; in float32 where it has no kernel of the type."""
        results = [self.values[n] for n in node.output]
        variable = {n: a for n, a in given.items() if not n.startswith("c")}
        out = by_runtime(alone(node, given, results, self.draft.opset), variable)
        if out is None:
            out = self.wide_runtime_of(node, given)
        fits = out and all(a.shape == v.shape for a, v in zip(out, results))
        with numpy.errstate(all="ignore"):
            return [a.astype(v.dtype) for a, v in zip(out, results)] if fits else None

    def both(self, node, known):
        given = {n: known[n] for n in node.input if n}
        a, b = self.reference_of(node, given), self.runtime_of(node, given)
        if a is None and b is None:
            raise rules.NoAnswer(node.op_type)
        return given, a or b, b or a

    def step(self, node):
        _, a, _ = self.both(node, self.reference)
        self.reference.update(zip(node.output, a))
        _, _, b = self.both(node, self.runtime)
        self.runtime.update(zip(node.output, b))
        given, a, b = self.both(node, self.chosen)
        results = [self.values[n] for n in node.output]
        masks = rules.not_compared(node, given, self.marked, self.values, [functools.partial(self.reference_of, node),
                                                                          functools.partial(self.runtime_of, node)])
        if masks is None or masks is True:
            masks = [numpy.full(v.shape, masks is True) for v in results]
        masks = [m | self.overflown(node, given, i, x) for i, (m, x) in enumerate(zip(masks, a))]
        self.marked.update(zip(node.output, masks))
        if not all((equal(x, y, v) | m).all() for x, y, v, m in zip(a, b, results, masks)):
            self.differing.append(node.op_type)
            a = self.choice(node, given, a, b, results)
        self.chosen.update(zip(node.output, a))

    def overflown(self, node, given, i, result):
        """Infinities of f16 that are numbers of f32: a chain of nodes may be computed in f32."""
        if result.dtype != "f2" or not numpy.isinf(result).any():
            return False
        wide = self.wide_runtime_of(node, given)
        return numpy.isinf(result) & numpy.isfinite(wide[i]) if wide else False

    def choice(self, node, given, a, b, results):
        """What relayout's reference makes of the node, each element of which is one of both answers."""
        model = alone(node, given, results, self.draft.opset)
        out = self.ours(model, given, results, ["reference"])["reference"]
        if isinstance(out, str):
            return a
        for mine, x, y, value in zip(out, a, b, results):
            good = equal(mine, x, value) | equal(mine, y, value) | self.marked[value.name]
            if not good.all():
                at = tuple(int(i) for i in numpy.argwhere(~good)[0])
                raise Wrong("%s alone at %s: ours %s, the reference %s, ONNX Runtime %s"
                            % (node.op_type, at, mine[at], x[at], y[at]))
        return out

    def accepted(self, value, got):
        """By element, whether it is what one of the chains has."""
        return (equal(got, self.chosen[value.name], value) | equal(got, self.reference[value.name], value)
                | equal(got, self.runtime[value.name], value) | self.marked[value.name])


def checked(model):
    onnx.checker.check_model(model)
    return model
