"""Models whose dims are left open: plan() and run() by names, by the batch and by the shapes of arrays."""
import pickle

import numpy as np
import pytest
import relayout
from onnx_bytes import model, node
from test_model import SPEEDS, WEIGHTS, convolved

pytest.importorskip("relayout._models", reason="what plans models is not installed")

RNG = np.random.default_rng(2)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Images of any number and size; the result is flattened by the shape that the model computes."""
    where = tmp_path_factory.mktemp("dims") / "open.onnx"
    where.write_bytes(model([node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
                             node("Shape", ["c"], ["s"]),
                             node("Gather", ["s", "zero"], ["n"], axis=0),
                             node("Concat", ["n", "minus"], ["t"], axis=0),
                             node("Reshape", ["c", "t"], ["y"])],
                            {"x": ("batch", 3, "height", "width")}, {"y": ("batch", "rest")},
                            {"w": WEIGHTS["w"], "zero": np.array([0]), "minus": np.array([-1])}))
    try:
        relayout.plan(where, dims={"batch": 1, "height": 2, "width": 2}, speeds=SPEEDS)
    except relayout.UnsupportedError as error:
        if "this build lacks" in str(error):
            pytest.skip(str(error))
        raise
    return where


def check(outputs, x):
    wanted = convolved(x, WEIGHTS["w"]).reshape(x.shape[0], -1)
    assert outputs["y"].shape == wanted.shape and np.allclose(outputs["y"], wanted, atol=1e-4)


def images(*dims):
    return RNG.normal(0, 1, dims).astype("f4")


@pytest.mark.parametrize("dims", [(3, 3, 5, 6), (1, 3, 4, 4)])
def test_arrays_say_the_dims(path, dims):
    x = images(*dims)
    for inputs in (x, [x], {"x": x}):
        net = relayout.plan(path, inputs=inputs, speeds=SPEEDS)
        assert net.inputs[0].dims == dims and not net.warnings
        check(net.run(inputs), x)


def test_run_of_a_file_takes_the_dims_of_its_inputs(path):
    x = images(3, 3, 5, 6)
    check(relayout.run(path, x), x)


def test_dims_by_name_by_place_and_by_the_batch(path):
    for given in ({"dims": {"batch": 2, "height": 4, "width": 5}},
                  {"batch": 2, "dims": {"height": 4, "width": 5}},
                  {"dims": {"x[0]": 2, "height": 4, "x[3]": 5}}):
        net = relayout.plan(path, speeds=SPEEDS, **given)
        assert net.inputs[0].dims == (2, 3, 4, 5) and not net.warnings
        x = images(2, 3, 4, 5)
        check(net.run(x), x)
        with pytest.raises(relayout.InvalidArgumentError, match="a plan is for one shape"):
            net.run(images(3, 3, 4, 5))
    net = relayout.plan(path, dims={"height": 4, "width": 5}, speeds=SPEEDS)
    assert net.inputs[0].dims == (1, 3, 4, 5) and "batch" in net.warnings[0]


def test_a_model_is_pickled_with_its_dims(path):
    x = images(2, 3, 4, 5)
    for given in ({"inputs": x}, {"batch": 2, "dims": {"height": 4, "width": 5}}):
        again = pickle.loads(pickle.dumps(relayout.plan(path, speeds=SPEEDS, **given)))
        check(again.run(x), x)


@pytest.mark.parametrize("given, message", [
    ({"batch": 2, "dims": {"height": 4}}, r'dim 3 of input "x" \("width"\) has no value; give dims=\{\'width\': N\}'),
    ({"dims": {"heigth": 4}}, "did you mean height"),
    ({"batch": 2, "dims": {"batch": 3}}, "is 3 as given, and 2 by the batch size"),
    ({"dims": {"height": -1}}, "cannot be -1"), ({"batch": 0}, "batch"), ({"batch": -3}, "batch"),
    ({"dims": {"x[1]": 4}}, "is 3 in the file"),
    ({"inputs": np.zeros((3, 4), "f4")}, "has 4 dims, and its array has 2"),
    ({"inputs": [np.zeros((1, 3, 4, 4), "f4")] * 2}, "1 inputs, and 2 arrays"),
    ({"inputs": {"z": np.zeros((1, 3, 4, 4), "f4")}}, 'has no input "z"; its inputs are x'),
    ({"inputs": {"z": np.zeros((1, 3, 4, 4), "f4")}, "dims": {"batch": 1, "height": 4, "width": 4}},
     'has no input "z"; its inputs are x'),
])
def test_what_is_wrong_is_said(path, given, message):
    with pytest.raises(relayout.InvalidArgumentError, match=message):
        relayout.plan(path, speeds=SPEEDS, **given)


def test_attention_of_any_batch_and_length(path, tmp_path):
    """Shapes that are computed from two open dims: heads are split, masked by positions, and joined again."""
    rng = np.random.default_rng(3)
    w = rng.normal(0, 0.5, (4, 4)).astype("f4")
    constants = {"w": w, "first": np.array([0]), "second": np.array([1]), "heads": np.array([2, 2]),
                 "whole": np.array([4]), "one": np.array(1), "zero": np.array(0)}
    nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "first"], ["batch"]),
             node("Gather", ["shape", "second"], ["seq"]), node("Gather", ["shape", "one"], ["steps"]),
             node("Concat", ["batch", "seq", "heads"], ["by_heads"], axis=0),
             node("Concat", ["batch", "seq", "whole"], ["together"], axis=0),
             node("MatMul", ["x", "w"], ["q"]), node("Reshape", ["q", "by_heads"], ["split"]),
             node("Transpose", ["split"], ["query"], perm=[0, 2, 1, 3]),
             node("Transpose", ["split"], ["key"], perm=[0, 2, 3, 1]),
             node("MatMul", ["query", "key"], ["scores"]),
             node("Range", ["zero", "steps", "one"], ["positions"]), node("Cast", ["positions"], ["bias"], to=1),
             node("Add", ["scores", "bias"], ["biased"]), node("Softmax", ["biased"], ["shares"], axis=-1),
             node("MatMul", ["shares", "query"], ["mixed"]),
             node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]), node("Reshape", ["back", "together"], ["y"])]
    where = tmp_path / "attention.onnx"
    where.write_bytes(model(nodes, {"x": ("batch", "seq", 4)}, {"y": ("batch", "seq", 4)}, constants))

    def expected(x):
        q = (x.astype("f8") @ w).reshape(*x.shape[:2], 2, 2).transpose(0, 2, 1, 3)
        scores = q @ q.transpose(0, 1, 3, 2) + np.arange(x.shape[1])
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        return (shares / shares.sum(-1, keepdims=True) @ q).transpose(0, 2, 1, 3).reshape(x.shape)

    for dims in ((3, 5, 4), (1, 1, 4), (2, 9, 4)):
        x = rng.normal(0, 1, dims).astype("f4")
        for given in ({"inputs": x}, {"dims": {"batch": dims[0], "seq": dims[1]}},
                      {"batch": dims[0], "dims": {"x[1]": dims[1]}}):
            net = relayout.plan(where, speeds=SPEEDS, **given)
            assert net.inputs[0].dims == dims and net.outputs[0].dims == dims
            assert np.allclose(net.run(x)["y"], expected(x), atol=1e-5)
            assert str(net).startswith(f"{net.nodes[0].name} by {net.nodes[0].implementation}: ")
