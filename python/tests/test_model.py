"""Models: plan() and run() on small .onnx files, against the same computation in NumPy."""
import json
import os
import pickle
import signal
import sys
import threading

import numpy as np
import pytest
import relayout
from onnx_bytes import model, node

pytest.importorskip("relayout._models", reason="what plans models is not installed")

RNG = np.random.default_rng(1)
WEIGHTS = {"w": RNG.normal(0, 0.3, (8, 3, 3, 3)).astype("f4"), "b": RNG.normal(0, 1, 8).astype("f4"),
           "v": RNG.normal(0, 0.3, (5, 8, 1, 1)).astype("f4")}


def net_bytes():
    return model([node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
                  node("Relu", ["c"], ["r"]),
                  node("Conv", ["r", "v"], ["d"], kernel_shape=[1, 1]),
                  node("GlobalAveragePool", ["d"], ["y"])],
                 {"x": (2, 3, 6, 7)}, {"y": (2, 5, 1, 1), "r": (2, 8, 6, 7)}, WEIGHTS)


def convolved(x, w):
    pad = w.shape[2] // 2
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w.astype(np.float64))


def expected(x):
    r = np.maximum(convolved(x, WEIGHTS["w"]) + WEIGHTS["b"][:, None, None], 0)
    return {"y": convolved(r, WEIGHTS["v"]).mean((2, 3), keepdims=True), "r": r}


def check(outputs, x):
    wanted = expected(x)
    assert list(outputs) == ["y", "r"]
    for name, array in outputs.items():
        array = np.asarray(array)
        assert array.dtype == np.float32 and array.shape == wanted[name].shape
        assert np.allclose(array, wanted[name], atol=1e-4), name


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    where = tmp_path_factory.mktemp("models") / "net.onnx"
    where.write_bytes(net_bytes())
    return where


#: Of a machine of two cores. With them no test but one measures, which takes long where the machine is busy.
SPEEDS = {"flops_per_us": 1e5, "near_bytes_per_us": 4e4, "cache_bytes_per_us": 2e4, "memory_bytes_per_us": 1e4,
          "call_us": 1.0, "step_us": 0.5, "narrow_share": 0.5}


def planned(path, **how):
    return relayout.plan(path, speeds=SPEEDS, **how)


@pytest.fixture(scope="module")
def net(path):
    """One plan for most tests."""
    try:
        return planned(path)
    except relayout.UnsupportedError as error:
        if "this build lacks" in str(error):
            pytest.skip(str(error))
        raise


def random_x():
    return RNG.normal(0, 1, (2, 3, 6, 7)).astype("f4")


def test_the_plan_says_what_it_is(net):
    assert net.inputs == [("x", (2, 3, 6, 7), "f32")]
    assert [(o.name, o.dims, o.dtype) for o in net.outputs] == [("y", (2, 5, 1, 1), "f32"), ("r", (2, 8, 6, 7), "f32")]
    assert net.nodes and all(n.name and n.implementation and n.dst_layouts for n in net.nodes)
    assert net.primitives_us > 0 and net.reorders_us >= 0 and net.cost_us > 0 and isinstance(net.optimal, bool)
    assert all(isinstance(text, str) for text in [*net.reorders, *net.warnings, str(net), repr(net)])
    assert all(n.name in str(net) for n in net.nodes)


def test_run_against_numpy(net):
    for _ in range(3):
        x = random_x()
        check(net.run(x), x)
        check(net.run([x]), x)
        check(relayout.run(net, {"x": x}), x)


def test_inputs_of_any_strides_and_types(net, path):
    x = random_x()
    for view in (np.asfortranarray(x), np.ascontiguousarray(x[:, :, ::-1])[:, :, ::-1],
                 np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2),
                 np.broadcast_to(x[:1], x.shape), x.astype("f8"), x.astype("f2")):
        check(net.run(view), view.astype("f4")) if view.dtype != np.float16 else net.run(view)
    whole = RNG.integers(0, 255, x.shape).astype("u1")
    scaled = planned(path, input_scale=1 / 255)
    check(scaled.run(whole), whole / np.float32(255))


def test_run_plans_a_file_for_the_machine_that_is_measured(net, path):
    """The one test that measures. Where other work disturbs it, the plan says so."""
    x = random_x()
    measured = relayout.plan(os.fsencode(path))
    check(measured.run(x), x)
    assert set(measured.speeds) == set(SPEEDS) and measured.speeds["flops_per_us"] > 0
    if not any("busy" in text for text in measured.warnings):
        again = relayout.plan(path, speeds=measured.speeds)
        assert again.speeds == measured.speeds and again.cost_us == measured.cost_us and str(again) == str(measured)
        check(relayout.run(path, x), x)               # by what was measured before


def test_speeds_that_are_given(net, path):
    assert net.speeds == SPEEDS
    slow = relayout.plan(path, speeds={**SPEEDS, "call_us": 500.0})
    assert slow.primitives_us > net.primitives_us + 400 and not slow.warnings
    wrong = [{}, {**SPEEDS, "other": 1.0}, {key: SPEEDS[key] for key in list(SPEEDS)[1:]}, {**SPEEDS, "step_us": 0.0},
             {**SPEEDS, "call_us": 1e9}, {**SPEEDS, "flops_per_us": float("inf")}, {**SPEEDS, "flops_per_us": -1.0}]
    for speeds in wrong:
        with pytest.raises(relayout.InvalidArgumentError, match="speeds"):
            relayout.plan(path, speeds=speeds)
    for speeds in (3, {**SPEEDS, "call_us": "fast"}):
        with pytest.raises(TypeError):
            relayout.plan(path, speeds=speeds)


def test_progress_counts_primitives_and_reorders(net):
    x, said = random_x(), []
    check(net.run(x, progress=lambda done, total: said.append((done, total))), x)
    done = [done for done, _ in said]
    assert done == sorted(set(done)) and len(done) > len(net.nodes) and done[0] == 0
    assert {total for _, total in said} == {done[-1]}

    def stop(done, total):
        raise StopIteration(done)

    with pytest.raises(StopIteration):
        relayout.run(net, x, progress=stop)
    check(net.run(x), x)                               # the model is as it was


def test_an_interrupt_ends_running(net):
    x = random_x()
    # A shell lets what it starts in the background ignore SIGINT.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        net.run(x, progress=lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.signal(signal.SIGINT, previous)
    check(net.run(x), x)


def test_a_model_is_pickled_by_what_made_it(net, path, monkeypatch):
    monkeypatch.chdir(path.parent)
    relative = planned(path.name, input_scale=0.5)
    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(relative))
    assert str(again) == str(relative) and again.speeds == SPEEDS
    x = random_x()
    assert all(np.array_equal(got, again.run(x)[name]) for name, got in relative.run(x).items())


def test_outputs_are_of_the_callers_library(net):
    x = random_x()
    torch = pytest.importorskip("torch")
    outputs = net.run(torch.from_numpy(x))
    assert all(type(array) is torch.Tensor for array in outputs.values())
    check(outputs, x)


def test_outputs_for_jax(net):
    jax = pytest.importorskip("jax")
    x = random_x()
    outputs = net.run(jax.numpy.asarray(x))
    assert all(isinstance(array, jax.Array) for array in outputs.values())
    check(outputs, x)


def test_one_model_in_many_threads(net):
    failures = []

    def work():
        try:
            for _ in range(20):
                x = np.random.default_rng().normal(0, 1, (2, 3, 6, 7)).astype("f4")
                check(net.run(x), x)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_wrong_inputs(net):
    x = random_x()
    for wrong in (x[:1], x[0], [x, x], [], {}, {"x": x, "z": x}, {"z": x}, x.astype("c8"), x.astype(object)):
        with pytest.raises(relayout.Error):
            net.run(wrong)
    for wrong in (None, 3, "x", [None], {"x": "text"}):
        with pytest.raises((TypeError, relayout.InvalidArgumentError)):
            net.run(wrong)


def test_wrong_files(net, tmp_path):
    good = net_bytes()
    with pytest.raises(relayout.FileError):
        planned(tmp_path / "none.onnx")
    unknown = tmp_path / "unknown.onnx"
    unknown.write_bytes(model([node("Nonsense", ["x"], ["y"])], {"x": (1,)}, {"y": (1,)}))
    with pytest.raises(relayout.UnsupportedError, match="Nonsense"):
        planned(unknown)
    broken = tmp_path / "broken.onnx"
    for length in range(1, len(good), 97):
        broken.write_bytes(good[:length])
        with pytest.raises(relayout.Error) as caught:
            planned(broken)
        assert not isinstance(caught.value, relayout.InternalError)
    with pytest.raises(TypeError):
        planned(7)


CORPUS = os.path.join(os.path.dirname(__file__), "../../tests/fuzz/corpus/onnx")
REFERENCES = {
    "flatten": lambda x: x.reshape(4, 25), "global_pool": lambda x: x.mean((2, 3), keepdims=True),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_models_of_the_repository(net, name):
    where = os.path.join(CORPUS, name + ".onnx")
    if not os.path.exists(where):
        pytest.skip("the repository is not there")
    plan = planned(where)
    x = RNG.normal(0, 1, plan.inputs[0].dims).astype("f4")
    got = plan.run(x)
    assert np.allclose(next(iter(got.values())), REFERENCES[name](x), atol=1e-5)


def test_without_the_package_of_models_an_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "relayout._models", None)  # as where it is not installed
    with pytest.raises(relayout.UnsupportedError, match="pip install ./python/models"):
        relayout.plan("net.onnx")


def test_show_has_the_plans_of_all_policies(path):
    plan = relayout.plan(path, speeds=SPEEDS)
    page = relayout.show(plan).html
    scene = json.loads(page.split('<script type="application/json" id="scene">')[1].split("</script>")[0])
    assert scene["title"] == "net.onnx"
    names = [one["policy"] for one in scene["plans"]]
    assert names[0] == "optimal" and set(names) >= {"any", "nchw", "nhwc", "ort"}
    best = scene["plans"][0]
    assert [step[0] for step in best["steps"]] == [node.implementation for node in plan.nodes]
    assert best["reorders"] == len(plan.reorders)
    assert best["predicted_us"] == pytest.approx(plan.primitives_us + plan.reorders_us)
    reasons = [best["copies"][copy][5] for _, copy, _ in best["shown"]]
    assert sorted(reasons) == sorted(plan.reorders)
    assert plan._repr_html_().startswith('<iframe sandbox="allow-scripts"')
    assert "<title>&lt;b&gt;</title>" in plan.page("<b>").html
    with pytest.raises(relayout.InvalidArgumentError, match="by itself"):
        relayout.show(plan, plan)
