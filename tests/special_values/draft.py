"""A random model while it is made: its nodes, inputs and constants, and what is known of each value."""
import dataclasses

import ml_dtypes  # noqa: F401
import numpy
from onnx import TensorProto, checker, defs, helper, numpy_helper, shape_inference

import elements
import rules

TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
         "bfloat16": TensorProto.BFLOAT16, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8,
         "int16": TensorProto.INT16, "uint16": TensorProto.UINT16, "int32": TensorProto.INT32,
         "uint32": TensorProto.UINT32, "int64": TensorProto.INT64, "uint64": TensorProto.UINT64,
         "bool": TensorProto.BOOL}


# No dim of a tensor is larger.
MOST = 600


class Unfit(Exception):
    """An operator that does not fit the values that there are."""


def type_of(dtype):
    return TYPES[numpy.dtype(dtype).name]


@dataclasses.dataclass
class Value:
    """`exact`: no rounding differs between implementations. `zeros`: the sign of a zero is defined. `narrowed`:
    the model has values of bfloat16 or float64. `noisy`: zeros are differences, and may be other small numbers."""
    name: str
    shape: tuple
    dtype: numpy.dtype
    exact: bool = True
    zeros: bool = True
    narrowed: bool = False
    noisy: bool = False

    @property
    def rank(self):
        return len(self.shape)


class Draft:
    def __init__(self, seed, opset, dtype, greatest):
        self.rng = numpy.random.default_rng(seed)
        self.opset, self.dtype, self.greatest = opset, numpy.dtype(dtype), greatest
        self.nodes, self.inputs, self.constants, self.values = [], {}, {}, []

    # Random choices.
    def chance(self, share):
        return self.rng.random() < share

    def of(self, options):
        return options[int(self.rng.integers(len(options)))]

    def between(self, low, high):
        return int(self.rng.integers(low, high + 1))

    # Values.
    def fresh(self, shape, dtype=None, constant=False, special=None, array=None):
        """An input or a constant of random elements, or of those of `array`."""
        dtype = numpy.dtype(dtype or self.dtype)
        if array is None:
            special = self.chance(0.6) if special is None else special
            make = elements.planted if special else elements.plain
            array = make(self.rng, shape, dtype, self.greatest) if special else make(self.rng, shape, dtype)
        where, letter = (self.constants, "c") if constant else (self.inputs, "x")
        name = letter + str(len(where))
        where[name] = numpy.ascontiguousarray(array) if array.ndim else array
        return Value(name, tuple(array.shape), array.dtype)

    def operand(self, shape, dtype=None, special=None):
        """An input, a constant or, if there is one of that kind, an earlier value."""
        dtype = numpy.dtype(dtype or self.dtype)
        known = [v for v in self.values if v.shape == tuple(shape) and v.dtype == dtype]
        if known and self.chance(0.4):
            return self.of(known)
        return self.fresh(shape, dtype, constant=self.chance(0.5), special=special)

    def fixed(self, array, dtype="i8"):
        """A constant that says how, not what: axes, bounds, shapes."""
        return self.fresh((), constant=True, array=numpy.asarray(array, dtype))

    # Nodes.
    def kinds(self, node, given):
        """The types and shapes of a node's results, by name."""
        try:
            return shape_inference.infer_node_outputs(
                defs.get_schema(node.op_type, self.opset), node,
                {n: helper.make_tensor_type_proto(type_of(s.dtype), s.shape) for n, s in given.items()},
                {n: numpy_helper.from_array(self.constants[n]) for n in given if n in self.constants},
                opset_imports=[helper.make_opsetid("", self.opset)])
        except (checker.ValidationError, shape_inference.InferenceError) as why:
            raise Unfit(str(why)) from why

    def node(self, operator, sources, exact=False, zeros=False, outputs=1, **attributes):
        """A node and its result, or a list of results. `exact` and `zeros` hold if they hold for the sources too."""
        given = {s.name: s for s in sources if s is not None}
        names = ["v%d" % (len(self.values) + i) for i in range(outputs)]
        node = helper.make_node(operator, ["" if s is None else s.name for s in sources], names,
                                name="n%d" % len(self.nodes), **attributes)
        kinds = self.kinds(node, given)
        results = []
        for name in names:
            kind = kinds[name].tensor_type
            if operator in ("MeanVarianceNormalization", "GroupNormalization"):  # inferred wrongly from their functions
                kind = helper.make_tensor_type_proto(type_of(sources[0].dtype), sources[0].shape).tensor_type
            shape = tuple(dim.dim_value for dim in kind.shape.dim)
            if not all(dim.HasField("dim_value") for dim in kind.shape.dim) or max(shape, default=1) > MOST:
                raise Unfit("%s has no fit shape" % operator)
            results.append(Value(name, shape, helper.tensor_dtype_to_np_dtype(kind.elem_type),
                                 exact and all(s.exact for s in given.values()),
                                 zeros and all(s.zeros for s in given.values()),
                                 noisy=operator in (*rules.ADDING, "Add", "Sub")
                                 or any(s.noisy for s in given.values())))
        self.nodes.append(node)
        self.values += results
        return results if outputs > 1 else results[0]

    def model(self):
        read = {name for node in self.nodes for name in node.input}
        outputs = [v for v in self.values if v.name not in read]
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, "special",
            [info(n, type_of(a.dtype), a.shape) for n, a in self.inputs.items() if n in read],
            [info(v.name, type_of(v.dtype), v.shape) for v in outputs],
            [numpy_helper.from_array(a, n) for n, a in self.constants.items() if n in read])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 10
        return model, outputs
