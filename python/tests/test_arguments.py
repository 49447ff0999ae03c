"""A call with an argument of a wrong type says which one it is, what was given and what is expected: every function."""
import inspect
import os
import tempfile

import numpy as np
import pytest
import relayout
from test_signatures import CLASSES, FUNCTIONS

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
LAYOUT = relayout.layout("abc", (2, 3, 4))
TILE = relayout.layout("ab", (8, 8))
PLAN = relayout.plan_conversion(X, "abc", "cab")
RECORD = relayout.Record("record{a:u8, x:f32;aligned}", (2,))
PLACED = relayout.Placement.parse("zarr:chunks=(2,3)", (4, 6))
A, B = relayout.layout("cute:(4,2):(1,4)"), relayout.layout("cute:2:1")


FOLDER = tempfile.TemporaryDirectory()
FILE = os.path.join(FOLDER.name, "x.npy")
np.save(FILE, X)


class Wrong:
    """Of no type that anything takes."""


#: A call of each function that has arguments, which is right. Those of OpenCL and of models need a device or a file.
CALLS = {
    "contiguous": dict(x=X.T, order="C", copy=True, threads=1),
    "convert": dict(x=X, src="abc", dst="cab", dims=(2, 3, 4), src_dtype="f32", dtype="f16", scale=1.0, dst_scale=2.0,
                    zero_point=1, dst_zero_point=1, mean=2, beta=0.0, padding=0, threads=1, progress=lambda *_: None),
    "copy": dict(dst=X.copy(), src=X, threads=1, progress=lambda *_: None),
    "empty": dict(shape=(2, 3), dtype="f32"),
    "gather": dict(x=X, table=[1, 0, 0], dim=0, block=1, out=np.zeros((3, 3, 4), np.float32), threads=1),
    "is_channels_last": dict(x=X),
    "layout": dict(expression="abc", dims=(2, 3, 4)),
    "layout_of": dict(x=X, base=X),
    "load": dict(path="/nowhere.npy", name="x"),
    "open": dict(path="/nowhere.npy"),
    "overlaps": dict(x=X, y=X),
    "permute_gates": dict(x=np.zeros((3, 4)), order="zrh", to="rzh", dim=0, threads=1, progress=lambda *_: None),
    "plan": dict(path="/nowhere.onnx"),
    "plan_conversion": dict(x=X, src="abc", dst="cab", dims=(2, 3, 4), dtype="f16", scale=1.0, std=2.0, padding=0),
    "ragged_index": dict(starts=[0, 1, 3], longest=2),
    "reorder_in_place": dict(x=X.copy(), src="abc", dst="cab", dims=(2, 3, 4), threads=1, progress=lambda *_: None),
    "run": dict(model="/nowhere.onnx", inputs=X),
    "save": dict(path="/nowhere/x.npy", x=X, dims=None),
    "show": dict(what=LAYOUT, other=LAYOUT, dtype="f32", title="x"),
    "Page": dict(html=""),
    "Placement.parse": dict(text="zarr:chunks=(2,3)", dims=(4, 6)),
    "Placement.mesh": dict(dims=(4, 6), mesh={"x": 2}, spec=["x", None]),
    "Placement.dtensor": dict(dims=(4, 6), mesh=(2,), placements=[0]),
    "Placement.block_cyclic": dict(dims=(4, 6), grid=(2, 1), blocks=(1, 6), source=(0, 0)),
    "Placement.chunks": dict(dims=(4, 6), chunk=(2, 3)),
    "Placement.name": dict(self=PLACED, place=1),
    "Placement.text": dict(self=PLACED, system="hdf5"),
    "Placement.local_dims": dict(self=PLACED, place=1),
    "Placement.places_of": dict(self=PLACED, index=(1, 2)),
    "Placement.local_index": dict(self=PLACED, index=(1, 2)),
    "Placement.global_index": dict(self=PLACED, place=1, local=(1, 2)),
    "Placement.difference": dict(self=PLACED, other=PLACED),
    "Placement.overlap": dict(self=PLACED, place=1, other=PLACED, other_place=0),
    "Page.save": dict(self=relayout.Page(""), path="/nowhere/x.html"),
    "scatter": dict(x=X, table=[4, 0], dim=0, out=np.zeros((5, 3, 4), np.float32), block=1, threads=1),
    "set_isa": dict(name=""),
    "sparse_rows_index": dict(starts=[0, 1, 3], indices=[1, 0, 2], columns=3),
    "transpose": dict(x=X, axes=(0, 2, 1), threads=1, progress=lambda *_: None),
    "convert_file": dict(src_path=FILE, dst_path="/nowhere/y.npy", src="abc", dst="cab", dims=(2, 3, 4), dtype="f16",
                         scale=2.0, threads=1),
    "convert_into": dict(x=X, path="/nowhere/y.npy", at=(0, 0, 0), src="abc", dst="cab", dims=(2, 3, 4), dtype="f32",
                         name="", dst_name="w", threads=1),
    "Buffer": dict(layout=LAYOUT, dtype="f32"),
    "Buffer.allocate": dict(layout=LAYOUT, dtype="f32"),
    "Buffer.from_bytes": dict(layout=LAYOUT, dtype="f32", bytes=bytes(96)),
    "Buffer.from_dlpack": dict(x=X),
    "Conversion.run": dict(self=PLAN, x=X, out=np.zeros((4, 2, 3), np.float32), threads=1,
                           progress=lambda *_: None),
    "File": dict(path="/nowhere.npy", wanted=""),
    "Layout": dict(expression="abc", dims=(2, 3, 4)),
    "Layout.as_": dict(self=LAYOUT, system="numpy", dtype="f32"),
    "Layout.as_strided": dict(self=LAYOUT, dims=(2, 3), strides_elements=(3, 1), offset0=0),
    "Layout.diagonal": dict(self=LAYOUT, offset=0, dim0=0, dim1=1),
    "Layout.difference": dict(self=LAYOUT, other=LAYOUT),
    "Layout.flatten": dict(self=LAYOUT, start_dim=0, end_dim=1),
    "Layout.flip": dict(self=LAYOUT, dim=0),
    "Layout.index": dict(self=LAYOUT, offset=3),
    "Layout.merge": dict(self=LAYOUT, first=0, last=1),
    "Layout.narrow": dict(self=LAYOUT, dim=0, start=0, length=1),
    "Layout.overlaps": dict(self=LAYOUT, other=LAYOUT),
    "Layout.same_function": dict(self=LAYOUT, other=LAYOUT),
    "Layout.select": dict(self=LAYOUT, dim=0, index=0),
    "Layout.span_bytes": dict(self=LAYOUT, dtype="f32"),
    "Layout.split": dict(self=LAYOUT, dim=2, parts=(2, 2)),
    "Layout.squeeze": dict(self=relayout.layout("ab", (1, 2)), dim=0),
    "Layout.strides_bytes": dict(self=LAYOUT, dtype="f32"),
    "Layout.submemory": dict(self=LAYOUT, dims=(1, 1, 1), offsets=(0, 0, 0)),
    "Layout.transpose": dict(self=LAYOUT, dim0=0, dim1=1),
    "Layout.unfold": dict(self=LAYOUT, dim=0, size=1, step=1),
    "Layout.unsqueeze": dict(self=LAYOUT, dim=0),
    "Model": dict(path="/nowhere.onnx"),
    "Record": dict(record="record{a:u8, x:f32;aligned}", dims=(2,), buffer="", group=0),
    "Record.at_byte": dict(self=RECORD, byte=1),
    "Record.put": dict(self=RECORD, buffer=np.zeros(16, np.uint8), name="a", x=np.zeros(2, np.uint8)),
    "Record.take": dict(self=RECORD, buffer=np.zeros(16, np.uint8), name="x"),
    "repack": dict(format="ggml:q4_0", buffers=np.zeros(18, np.uint8), shape=(1, 32), to="ggml:q8_0", group=0,
                   to_group=0, requantise=False, threads=1),
    "dequantize": dict(format="ggml:q4_0", buffers=np.zeros(18, np.uint8), shape=(1, 32), dtype="f32", group=0,
                       threads=1),
    "bank_conflicts": dict(layout=TILE, access="row", dtype="f16"),
    "find_swizzle": dict(layout=TILE, accesses=["row"], dtype="f16"),
    "interop.c_function": dict(layout=LAYOUT, name="offset"),
    "interop.complement": dict(a=A, cosize=8),
    "interop.from_cudnn": dict(dimensions=(1, 2), strides_elements=(2, 1), dtype="f32", vector_count=1),
    "interop.from_cute": dict(text="4:1"),
    "interop.from_directml": dict(dtype="f32", sizes=(2, 3), strides_elements=(3, 1), total_bytes=0),
    "interop.from_mace": dict(name="in_out_channel", dims=(1, 2, 3, 4), pitch_texels=0),
    "interop.from_numpy": dict(array_interface=relayout.interop.to_numpy(LAYOUT), dtype_name="", byte_offset=0),
    "interop.from_onednn": dict(fields=relayout.interop.to_onednn(LAYOUT)),
    "interop.from_onednn_verbose": dict(tensor="src_f32::blocked:ab:f0", dims=(2, 3)),
    "interop.from_pytorch": dict(sizes=(2, 3), strides_elements=(3, 1), storage_offset=0, dtype="f32"),
    "interop.from_triton": dict(text="offset = [[1], [2]]", shape=(4,)),
    "interop.from_tvm": dict(text="NCHW", dims=(1, 2, 3, 4)),
    "interop.from_xla": dict(text="f32[3,5]{1,0}"),
    "interop.gate_moves": dict(src=relayout.layout("ab", (3, 4)), dst=relayout.layout("ab", (3, 4)), dim=0,
                               order="zrh", to="rzh"),
    "interop.gate_places": dict(order="zrh", to="rzh"),
    "interop.kv_cache": dict(order="nhd", pairing="first", blocks=2, block_size=4, heads=2, dim=8, packed=8),
    "interop.read_onednn_log": dict(text=""),
    "interop.tensors_in_text": dict(text="torch (2,3)"),
    "interop.scale_factors": dict(kind="mxfp8", rows=128, columns=128),
    "interop.to_onednn_verbose": dict(layout=LAYOUT, name="src", dtype="f32", version=(3, 7)),
    **{f"interop.{name}": dict(layout=LAYOUT) for name in ("names_of", "to_cute", "to_tvm")},
    "interop.to_triton": dict(layout=relayout.layout("ab", (4, 4))),
    "interop.to_mace": dict(layout=relayout.layout("mace:in_out_channel", (1, 4, 2, 2))),
    **{f"interop.{name}": dict(layout=LAYOUT, dtype="f32") for name in
       ("to_cudnn", "to_directml", "to_numpy", "to_onednn", "to_pytorch", "to_xla")},
    **{f"interop.{name}": dict(a=A) for name in ("coalesce", "cosize", "left_inverse", "right_inverse")},
    **{f"interop.{name}": dict(a=A, b=B) for name in
       ("blocked_product", "compose", "flat_divide", "logical_divide", "logical_product", "raked_product",
        "tiled_divide", "zipped_divide")},
    "testing.layouts": dict(shape=(2, 3), dtype="float32", framework="numpy", layouts="all"),
    "testing.strided_array": dict(shape=(2, 3), strides=(3, 1), offset=0, dtype="float32", framework="numpy", skew=0),
}
EVERYTHING = {name.replace("relayout.", "", 1).replace("_native.", ""): thing
              for name, thing in {**FUNCTIONS, **CLASSES}.items()}
#: Parameters where what is given is no fault of its type: a truth value, or anything that float() or a file takes.
FREE = {("load", "name"), ("save", "x"), ("File", "wanted"), ("run", "inputs"), ("Page", "html")}


def cases():
    for function, right in CALLS.items():
        for name in right:
            if name != "self" and (function, name) not in FREE:
                yield function, name


def call(function, given):
    """With what can only be given by its place so."""
    parameters = inspect.signature(EVERYTHING[function]).parameters.values()
    if function.split(".")[0] in ("Layout", "Conversion") and "self" in given:
        given = dict(given)
        return getattr(given.pop("self"), function.split(".")[1])(**given)
    places = [given[p.name] for p in parameters if p.kind is p.POSITIONAL_ONLY]
    return EVERYTHING[function](*places, **given)


def test_every_function_with_arguments_is_called():
    without = {name for name, thing in EVERYTHING.items()
               if not [p for p in inspect.signature(thing).parameters if p != "self"]}
    elsewhere = ("opencl.", "testing.", "Model.", "Explanation", "SourceExplanation", "explain", "Conversion",
                 "RecordField", "Repacked", "rearrange", "Layout.permute", "Layout.view", "Layout.expand",
                 "Layout.offset")
    errors = {name for name, thing in EVERYTHING.items() if isinstance(thing, type) and issubclass(thing,
                                                                                                   BaseException)}
    made_by_others = {"Placement", "PlacementDifference"}
    missing = {name for name in set(EVERYTHING) - set(CALLS) - without - errors - made_by_others
               if not name.startswith(elsewhere)}
    assert not missing


@pytest.mark.parametrize("function", [name for name, right in CALLS.items() if "/nowhere" not in str(right)])
def test_the_calls_are_right(function):
    call(function, CALLS[function])


@pytest.mark.parametrize("function, name", list(cases()))
def test_an_argument_of_no_type_is_named(function, name):
    with pytest.raises(TypeError) as caught:
        call(function, {**CALLS[function], name: Wrong()})
    called = function.split(".", 1)[1] if function.startswith(("interop.", "testing.")) else function
    assert str(caught.value).startswith(f"{called}(): {name} must be ")
    assert str(caught.value).endswith(", not a value of the type Wrong")


#: What people write, and how it is answered.
ANSWERS = [
    (lambda: relayout.contiguous(X.T, threads=1.5), "contiguous(): threads must be an integer, not 1.5 (float)"),
    (lambda: relayout.copy(X.copy(), X, threads="2"), "copy(): threads must be an integer, not '2' (str)"),
    (lambda: relayout.copy(X.copy(), X, threads=2**40), "copy(): threads is out of range: 1099511627776 (int)"),
    (lambda: relayout.copy(X.copy(), X, thread=2), "copy(): got an unexpected keyword argument 'thread'"),
    (lambda: relayout.copy(X), "copy(): missing a required argument: 'src'"),
    (lambda: relayout.convert(X, "abc", "cab", dims="2,3"),
     "convert(): dims must be a sequence of integers or None, not '2,3' (str)"),
    (lambda: relayout.convert(X, "abc", "cab", dims=[2, 3, "4"]),
     "convert(): dims[2] must be an integer, not '4' (str)"),
    (lambda: relayout.convert(X, 3, "cab"), "convert(): src must be a layout expression or a Layout, not 3 (int)"),
    (lambda: relayout.convert(X, "abc", "cab", dtype=3.5),
     "convert(): dtype must be a type of elements such as 'f32' or numpy.float32, not 3.5 (float)"),
    (lambda: relayout.convert(X, "abc", "cab", scale="2"),
     "convert(): scale must be a number or an array of numbers, not '2' (str)"),
    (lambda: relayout.convert([1.0], "a", "a"), "convert(): x must be an array, not [1.0] (list)"),
    (lambda: relayout.layout("abc", (2, 3.5, 4)), "layout(): dims[1] must be an integer, not 3.5 (float)"),
    (lambda: relayout.Layout(3), "Layout(): expression must be a text, not 3 (int)"),
    (lambda: LAYOUT["a"],
     "Layout.__getitem__(): key must be an integer, a slice, None, ... or a tuple of these, not 'a' (str)"),
    (lambda: LAYOUT.offset("a", 1, 2), "Layout.offset(): argument 1 must be an integer, not 'a' (str)"),
    (lambda: LAYOUT.permute("abc"), "Layout.permute(): the argument must be a sequence of integers, not 'abc' (str)"),
    (lambda: LAYOUT.view(2, 3.0, 4), "Layout.view(): argument 2 must be an integer, not 3.0 (float)"),
    (lambda: relayout.rearrange("a b c -> c a b", X, threads="2"),
     "rearrange(): threads must be an integer, not '2' (str)"),
    (lambda: relayout.opencl.Device("a"), "Device(): number must be an integer or None, not 'a' (str)"),
    (lambda: relayout.opencl.Buffer.empty(3, (2, 3)),
     "Buffer.empty(): layout must be a layout expression or a Layout, not 3 (int)"),
    (lambda: relayout.interop.to_onednn_verbose(LAYOUT, version=3),
     "to_onednn_verbose(): version must be a tuple of 2 integers, not 3 (int)"),
    (lambda: relayout.testing.layouts(shape="23"),
     "layouts(): shape must be a sequence of integers, not '23' (str)"),
    (lambda: relayout.testing.assert_layout_invariant(3, X),
     "assert_layout_invariant(): fn must be a function, not 3 (int)"),
]


@pytest.mark.parametrize("wrong, answer", ANSWERS, ids=[answer.split(" ")[0] + str(i)
                                                        for i, (_, answer) in enumerate(ANSWERS)])
def test_answers(wrong, answer):
    with pytest.raises(TypeError) as caught:
        wrong()
    assert str(caught.value) == answer


def test_errors_of_the_callers_own_stay():
    error = TypeError("mine")

    def fails(*_):
        raise error

    for call_it in (lambda: relayout.copy(X.copy(), X, progress=fails),
                    lambda: relayout.transpose(X, progress=fails),
                    lambda: relayout.convert(X, "abc", "cab", progress=fails)):
        with pytest.raises(TypeError) as caught:
            call_it()
        assert caught.value is error


def test_destinations_of_another_shape():
    out = np.zeros((4, 2, 5), np.float32)
    for call_it, answer in [
            (lambda: relayout.convert(X, "abc", "cab", out=out),
             "out is an array of 4x2x5, and cab describes one of 4x2x3"),
            (lambda: PLAN.run(X, out), "out is an array of 4x2x5, and cab describes one of 4x2x3"),
            (lambda: PLAN.run(out, X), "x is an array of 4x2x5, and this was planned for one of 2x3x4"),
            (lambda: relayout.convert(X, "abc", "cab", dims=(2, 3, 5)),
             "x is an array of 2x3x4, and abc describes one of 2x3x5"),
            (lambda: relayout.transpose(X, out=out), "out is (4, 2, 5), and the result (4, 3, 2)"),
            (lambda: relayout.rearrange("a b c -> c a b", X, out=out),
             "rearrange: out is (4, 2, 5), and the result (4, 2, 3)"),
            (lambda: relayout.copy(out, X), "src is (2, 3, 4), which cannot be broadcast to dst, which is (4, 2, 5)"),
            (lambda: relayout.permute_gates(np.zeros((3, 4)), "zrh", "rzh", 0, out=np.zeros((3, 5))),
             "out is (3, 5), and x (3, 4)")]:
        with pytest.raises(relayout.InvalidArgumentError) as caught:
            call_it()
        assert str(caught.value) == answer
