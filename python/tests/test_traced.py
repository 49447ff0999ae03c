"""Functions that PyTorch or JAX traces, compiles or transforms: nothing that relayout does would be recorded, so each
function that takes arrays refuses those that it gets there, by the name of what traces."""
import io
import weakref

import numpy as np
import pytest
import relayout
import relayout.opencl

#: Each function that takes arrays, called with one of shape (3, 4).
CALLS = {
    "contiguous": relayout.contiguous,
    "contiguous F": lambda x: relayout.contiguous(x, "F"),
    "contiguous of rows": lambda x: relayout.contiguous(x, copy=None),
    "transpose": relayout.transpose,
    "transpose out": lambda x: relayout.transpose(x, out=np.zeros((4, 3), "f4")),
    "rearrange": lambda x: relayout.rearrange("a b -> b a", x),
    "rearrange out": lambda x: relayout.rearrange("a b -> a b", np.ones((3, 4), "f4"), out=x),
    "rearrange without moves": lambda x: relayout.rearrange("a b -> (a b)", x),
    "rearrange a list": lambda x: relayout.rearrange("n a b -> a n b", [x, x]),
    "copy from": lambda x: relayout.copy(np.zeros((3, 4), "f4"), x),
    "copy to": lambda x: relayout.copy(x, np.zeros((3, 4), "f4")),
    "copy cast": lambda x: relayout.copy(np.zeros((3, 4), "f8"), x),
    "convert": lambda x: relayout.convert(x, "ab", "ba"),
    "convert out": lambda x: relayout.convert(np.ones((3, 4), "f4"), "ab", "ab", out=x),
    "convert scale": lambda x: relayout.convert(np.ones((3, 4), "f4"), "ab", "ba", scale=x),
    "plan_conversion": lambda x: relayout.plan_conversion(x, "ab", "ba"),
    "Conversion.run": lambda x: PLAN.run(x),
    "Conversion.run out": lambda x: PLAN.run(np.ones((3, 4), "f4"), x),
    "reorder_in_place": lambda x: relayout.reorder_in_place(x, "ab", "ba"),
    "permute_gates": lambda x: relayout.permute_gates(x, "ab", "ba", 1),
    "layout_of": relayout.layout_of,
    "layout_of base": lambda x: relayout.layout_of(np.zeros(1, "f4"), base=x),
    "is_channels_last": relayout.is_channels_last,
    "overlaps": lambda x: relayout.overlaps(x, np.zeros(3, "f4")),
    "save": lambda x: relayout.save("/nowhere/x.npy", x),
    "save a dict": lambda x: relayout.save("/nowhere/x.npz", {"x": x}),
    "Buffer.from_dlpack": relayout.Buffer.from_dlpack,
    "opencl": lambda x: relayout.opencl.Buffer.from_array(x, "ab"),
}
PLAN = relayout.plan_conversion(np.zeros((3, 4), "f4"), "ab", "ba")
#: These take what they read from the library itself, which says what is wrong.
OF_DLPACK = ["Buffer.from_dlpack"]


def torch_and_x():
    torch = pytest.importorskip("torch")
    return torch, torch.arange(12.0).reshape(3, 4)


def refuses(call, names):
    """Raises within the traced function, so that no other error can stand for it."""
    with pytest.raises(relayout.UnsupportedError) as caught:
        call()
    assert caught.value.field == "x" and caught.value.value in names, str(caught.value)
    assert any(name in str(caught.value) for name in names), str(caught.value)


@pytest.mark.parametrize("name", CALLS)
def test_torch_jit_trace(name):
    torch, x = torch_and_x()

    def f(x):
        CALLS[name](x)
        return x + 1

    refuses(lambda: torch.jit.trace(f, (x,), check_trace=False), ["torch.jit.trace"])


def test_torch_onnx_export():
    torch, x = torch_and_x()

    class Model(torch.nn.Module):
        def forward(self, x):
            return relayout.contiguous(x.t()) + 1

    try:
        with pytest.raises(relayout.UnsupportedError, match="torch.onnx.export|torch.export"):
            torch.onnx.export(Model(), (x,), io.BytesIO(), **({"dynamo": False} if torch.__version__ >= "2" else {}))
    except ImportError:
        pytest.skip("torch.onnx needs another package")


@pytest.mark.parametrize("name", CALLS)
def test_fake_tensors(name):
    torch, x = torch_and_x()
    fakes = pytest.importorskip("torch._subclasses.fake_tensor")
    names = ["torch.export, torch.compile or FakeTensorMode"]
    mode = fakes.FakeTensorMode()
    refuses(lambda: CALLS[name](mode.from_tensor(x)), names)
    with mode:
        made = torch.ones(3, 4)
        refuses(lambda: CALLS[name](made), names)
        refuses(lambda: CALLS[name](x), names)


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("name", CALLS)
def test_make_fx(name, mode):
    torch, x = torch_and_x()
    proxies = pytest.importorskip("torch.fx.experimental.proxy_tensor")
    names = ["make_fx", "torch.export, torch.compile or FakeTensorMode"]
    refuses(lambda: proxies.make_fx(lambda x: (CALLS[name](x), x + 1)[1], tracing_mode=mode)(x), names)


def test_symbolic_traces():
    torch, x = torch_and_x()
    fx = pytest.importorskip("torch.fx")
    for name in ("contiguous", "transpose", "convert", "layout_of", "copy from"):
        refuses(lambda: fx.symbolic_trace(lambda x: CALLS[name](x)), ["torch.fx.symbolic_trace"])


def transforms(torch):
    try:
        from torch import func
    except ImportError:
        func = pytest.importorskip("functorch")
    return {
        "vmap": lambda f, x: func.vmap(f)(x[None]),
        "grad": lambda f, x: func.grad(lambda x: (f(x), x.sum())[1])(x),
        "jvp": lambda f, x: func.jvp(f, (x,), (x,)),
        "functionalize": lambda f, x: func.functionalize(f)(x),
    }


@pytest.mark.parametrize("kind", ["vmap", "grad", "jvp", "functionalize"])
@pytest.mark.parametrize("name", CALLS)
def test_functorch(name, kind):
    torch, x = torch_and_x()

    def f(x):
        with torch.no_grad():  # which alone would say that a gradient is needed
            CALLS[name](x)
        return x + 1

    with pytest.raises(relayout.Error) as caught:
        transforms(torch)[kind](f, x)
    assert caught.value.value in ("torch.func", "tangent", "requires_grad=True"), str(caught.value)


def test_gradients_in_forward_mode():
    torch, x = torch_and_x()
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        for name in CALLS:
            with pytest.raises(relayout.InvalidArgumentError, match="has a tangent"):
                CALLS[name](dual)
        assert relayout.contiguous(x.t()).shape == (4, 3)  # which has none
        assert relayout.contiguous(forward_ad.unpack_dual(dual).primal.t()).shape == (4, 3)


def test_a_scale_that_needs_a_gradient():
    torch, x = torch_and_x()
    scale = torch.ones(3, 1, requires_grad=True)
    with pytest.raises(relayout.InvalidArgumentError, match="needs a gradient"):
        relayout.convert(x, "ab", "ba", scale=scale)
    with torch.no_grad():
        assert relayout.convert(x, "ab", "ba", scale=scale).equal(x.t())


@pytest.mark.parametrize("name", ["contiguous", "transpose", "rearrange", "convert"])
def test_torch_compile_leaves_calls_to_python(name):
    """Right for any values, between parts that are compiled; fullgraph=True and torch.export are errors."""
    torch, x = torch_and_x()
    if not hasattr(torch, "compile"):
        pytest.skip("PyTorch 2 has torch.compile")

    def f(x):
        return CALLS[name](x * 2) + 1

    torch._dynamo.reset()
    compiled = torch.compile(f, backend="eager")
    for given in (x, x * 7 + 3):
        assert compiled(given).equal(f(given))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(f, backend="eager", fullgraph=True)(x)

    class Model(torch.nn.Module):
        def forward(self, x):
            return f(x)

    with pytest.raises(relayout.UnsupportedError, match="torch.export"):
        torch.export.export(Model(), (x,), strict=False)


def test_modes_that_trace_nothing():
    torch, x = torch_and_x()
    python_dispatch = pytest.importorskip("torch.utils._python_dispatch")

    class Counts(python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    with Counts():
        made = relayout.contiguous(x.t())
    assert made.equal(x.t())


@pytest.mark.parametrize("name", [name for name in CALLS if name not in OF_DLPACK])
def test_jax(name):
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(12.0).reshape(3, 4)

    def f(x):
        CALLS[name](x)
        return x.sum()

    for trace in (jax.jit, jax.grad, jax.vmap, jax.make_jaxpr):
        refuses(lambda: trace(f)(x[None] if trace is jax.vmap else x), ["jax.jit"])
    refuses(lambda: jax.eval_shape(f, x), ["jax.jit"])
    refuses(lambda: CALLS[name](jax.ShapeDtypeStruct((3, 4), "float32")), ["jax.ShapeDtypeStruct"])


def test_jax_takes_functions_themselves_and_calls_them_back():
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(12.0).reshape(3, 4)
    for function in (relayout.contiguous, relayout.transpose):
        refuses(lambda: jax.jit(function)(x), ["jax.jit"])
    shape = jax.ShapeDtypeStruct((4, 3), x.dtype)
    assert (jax.jit(lambda x: jax.pure_callback(relayout.transpose, shape, x))(x) == x.T).all()


def test_functions_can_be_held_weakly():
    for function in (relayout.contiguous, relayout.convert, relayout.transpose, relayout.Layout.offset):
        assert weakref.ref(function)() is function
    dropped = relayout._native.with_named_arguments(lambda: None)
    reference = weakref.ref(dropped)
    del dropped
    assert reference() is None
