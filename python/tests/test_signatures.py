"""What Python's tools ask of functions: inspect.signature, pickle, copy and processes."""
import copy
import inspect
import io
import multiprocessing
import os
import pickle
import pydoc

import numpy as np
import pytest
import relayout
from relayout import _native


def public():
    """(name, thing) of everything public, modules apart."""
    for module in (relayout, relayout.interop, relayout.testing, relayout.opencl):
        for name in getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]:
            if not inspect.ismodule(getattr(module, name)):
                yield module, name, getattr(module, name)


def functions():
    """Every public function and method, by its name."""
    found = {}
    for module, name, thing in public():
        if inspect.isclass(thing):
            own = {key for kind in thing.__mro__ if kind.__module__.startswith("relayout") for key in vars(kind)}
            for key in own:
                if not key.startswith("_") and callable(getattr(thing, key)):
                    found[f"{module.__name__}.{name}.{key}"] = getattr(thing, key)
        elif callable(thing):
            found[f"{module.__name__}.{name}"] = thing
    return found


FUNCTIONS = functions()
CLASSES = {f"{module.__name__}.{name}": thing for module, name, thing in public() if inspect.isclass(thing)}


@pytest.fixture(scope="module", autouse=True)
def _all_of_them():
    assert len(FUNCTIONS) > 100


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_has_a_signature(name):
    function = FUNCTIONS[name]
    signature = inspect.signature(function)
    kinds = [(p.kind, p.name) for p in signature.parameters.values()]
    # Not merely "anything": nothing public takes *args and **kwargs both without a name for any of them.
    if "testing" not in name:
        assert kinds != [(inspect.Parameter.VAR_POSITIONAL, "args"), (inspect.Parameter.VAR_KEYWORD, "kwargs")]


def test_signatures_say_names_defaults_and_kinds():
    assert str(inspect.signature(relayout.layout)) == "(expression: str, dims: object | None = None) -> " \
        "relayout._native.Layout"
    copied = inspect.signature(relayout.copy).parameters
    assert list(copied) == ["dst", "src", "threads", "progress"]
    assert copied["threads"].default == 0 and copied["threads"].kind is inspect.Parameter.KEYWORD_ONLY
    order = inspect.signature(relayout.contiguous).parameters["order"]
    assert order.default == "C"
    layout = relayout.layout("ab", (2, 3))
    assert list(inspect.signature(layout.span_bytes).parameters) == ["dtype"]
    assert list(inspect.signature(relayout.Layout.span_bytes).parameters) == ["self", "dtype"]
    assert inspect.signature(relayout.contiguous).bind(1, copy=True).arguments == {"x": 1, "copy": True}
    with pytest.raises(TypeError):
        inspect.signature(relayout.copy).bind(1)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_class_has_a_signature(name):
    inspect.signature(CLASSES[name])


def test_signatures_of_classes_say_how_they_are_made():
    assert len(CLASSES) > 25
    signatures = {name: list(inspect.signature(kind).parameters) for name, kind in CLASSES.items()}
    assert signatures["relayout.Layout"] == ["expression", "dims"]
    assert signatures["relayout.Buffer"] == ["layout", "dtype"]
    assert signatures["relayout.Conversion"][:2] == ["src", "dst"] and signatures["relayout.File"] == ["path", "wanted"]
    assert signatures["relayout.Error"] == signatures["relayout.MissingTensorError"] == [
        "message", "field", "value", "limit"]
    assert signatures["relayout.opencl.Device"] == ["number"] and signatures["relayout.opencl.Runtime"] == ["device"]
    assert signatures["relayout.Model"] == ["path", "dims", "batch", "inputs", "input_scale", "speeds"]
    # And that is true.
    layout = relayout.Layout("nChw8c", (2, 17, 5, 4))
    assert layout == relayout.layout("nChw8c", (2, 17, 5, 4)) and layout.expression == "nChw8c"
    buffer = relayout.Buffer(layout, dtype="f16")
    assert (buffer.layout, buffer.dtype, buffer.shape) == (layout, "f16", (2, 17, 5, 4))
    for wrong in (lambda: relayout.Layout(), lambda: relayout.Buffer(layout), lambda: relayout.Layout(3)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(relayout.ParseError):
        relayout.Layout("nChw8q", (2, 17, 5, 4))
    for number, device in enumerate(relayout.opencl.devices()):
        assert relayout.opencl.Device(number).name == device.name
    with pytest.raises((relayout.InvalidArgumentError, relayout.UnsupportedError)):
        relayout.opencl.Device(99)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_is_pickled_by_its_name(name):
    function = FUNCTIONS[name]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(function, protocol)) == function
    assert copy.copy(function) == function == copy.deepcopy(function)


def test_a_method_is_pickled_with_its_object():
    layout = relayout.layout("nChw8c", (2, 17, 5, 4))
    again = pickle.loads(pickle.dumps(layout.offset))
    assert again(0, 16, 2, 3) == layout.offset(0, 16, 2, 3) and copy.copy(layout.offset)(0, 0, 0, 0) == 0


def test_values_are_pickled_by_what_makes_them():
    x = np.arange(2 * 17 * 5 * 4, dtype=np.float32).reshape(2, 17, 5, 4)
    plan = relayout.plan_conversion(x, "nchw", "nChw16c", dtype="bf16", scale=[1.0] * 17, padding=3)
    again = pickle.loads(pickle.dumps(plan))
    assert (again.shape, again.dtype, again.dst_layout) == (plan.shape, plan.dtype, plan.dst_layout)
    assert again.explain() == plan.explain()
    results = [np.zeros(plan.shape, np.uint16) for _ in range(2)]
    for result, one in zip(results, (plan, copy.deepcopy(again))):
        one.run(x, result)
    assert (results[0] == results[1]).all() and results[0].any()
    for layout in (relayout.layout("strides:5,1@3", (3, 4)), relayout.layout("nchw", (1, 2, 3, 4))[:, ::-1]):
        assert pickle.loads(pickle.dumps(layout)) == layout == copy.copy(layout) == copy.deepcopy(layout)


def test_a_buffer_is_pickled_with_its_memory():
    layout = relayout.layout("nChw8c", (1, 3, 2, 2))
    buffer = _native.Buffer.allocate(layout, "s16")
    relayout.convert(np.arange(12, dtype=np.int16).reshape(1, 3, 2, 2), "nchw", "nChw8c")
    again = pickle.loads(pickle.dumps(buffer))
    assert (again.layout, again.dtype, again.read_only) == (layout, "s16", False)
    plain = _native.Buffer.from_dlpack(np.arange(5.0))
    assert np.asarray(copy.deepcopy(plain)).tolist() == [0, 1, 2, 3, 4]
    assert not relayout.overlaps(copy.deepcopy(plain), plain)


def test_files_are_pickled_by_their_paths(tmp_path, monkeypatch):
    x = np.arange(6.0).reshape(2, 3)
    relayout.save(tmp_path / "x.npy", x)
    relayout.save(tmp_path / "x.safetensors", {"a": x, "b": x[0]}, metadata={"format": "np"})
    monkeypatch.chdir(tmp_path)
    files = [relayout.open("x.npy"), relayout.open(b"x.npy"), relayout.open(tmp_path / "x.safetensors")]
    monkeypatch.chdir("/")                            # where a relative path would lead elsewhere
    for file in files:
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(file, protocol))
            assert (again.names, again.format, again.metadata) == (file.names, file.format, file.metadata)
            for name in file:
                assert np.array_equal(again[name].array(), file[name].array())
                assert np.array_equal(pickle.loads(pickle.dumps(file[name], protocol)), file[name])
    file = files[-1]
    wanted = pickle.loads(pickle.dumps(relayout.File(tmp_path / "x.safetensors", "a")))
    assert wanted["b"].problem is None and wanted.names == ["a", "b"] and wanted["b"].shape == ()   # only its name
    one, two = pickle.loads(pickle.dumps((file["a"], file["b"])))
    assert one._file is two._file                     # opened once
    (tmp_path / "x.safetensors").unlink()
    with pytest.raises(relayout.FileError):
        pickle.loads(pickle.dumps(file))
    for same in (copy.copy(file), copy.deepcopy(file)):             # these need no path
        assert same is not file and np.array_equal(same["a"], x) and same.names == file.names
        assert np.shares_memory(same["a"].array(), file["a"].array())
    assert copy.deepcopy(file).metadata is not file.metadata and np.array_equal(copy.copy(file["a"]), x)
    assert np.array_equal(copy.deepcopy(file["a"]), x)


def test_what_was_read_from_a_pipe_is_not_pickled(tmp_path):
    for pipe in (os.pipe(), os.pipe()):
        os.write(pipe[1], b"bytes")
        os.close(pipe[1])
        file = relayout.open(f"/dev/fd/{pipe[0]}")
        os.close(pipe[0])
        with pytest.raises(relayout.UnsupportedError, match="no regular file"):
            pickle.dumps(file)
        assert bytes(copy.copy(file)[""].array()) == bytes(copy.deepcopy(file)[""].array()) == b"bytes"
    for wrong in (3, io.BytesIO(b"bytes")):         # only what leads to a file is opened
        with pytest.raises(TypeError, match="PathLike"):
            relayout.open(wrong)


def test_processes_take_files(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    relayout.save(tmp_path / "x.safetensors", {"a": x})
    file = relayout.open(tmp_path / "x.safetensors")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(getattr, (file, "names")) == ["a"]
        assert (pool.apply(np.array, (file["a"],)) == x).all()


def test_processes_take_functions_and_plans():
    x = np.arange(6.0).reshape(2, 3)
    plan = relayout.plan_conversion(x, "ab", "ba")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert (pool.apply(relayout.contiguous, (x.T,)) == x.T).all()
        assert pool.apply(relayout.layout("ab", (2, 3)).offset, (1, 2)) == 5
        assert (pool.apply(relayout.transpose, (x,)) == x.T).all()
        assert pool.apply(getattr, (plan, "shape")) == (3, 2)


def test_help_shows_the_signature_and_the_text():
    text = pydoc.plain(pydoc.render_doc(relayout.copy))
    assert "copy(dst: object, src: object, *, threads: int = 0, progress: object | None = None)" in text
    assert "can be broadcast to" in text
    assert "span_bytes(self, dtype: object)" in pydoc.plain(pydoc.render_doc(relayout.Layout))
