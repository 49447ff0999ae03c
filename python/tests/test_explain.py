"""relayout.explain: channels_last that a model of PyTorch loses, and reports of logs."""
import json
from pathlib import Path

import pytest
import relayout

SAMPLES = Path(__file__).resolve().parents[2] / "tests" / "explain" / "samples"


def net(torch, spoil=None):
    """Four convolutions; `spoil` is done to the result of the third."""

    class Block(torch.nn.Module):
        def __init__(self, change=None):
            super().__init__()
            self.conv = torch.nn.Conv2d(8, 8, 3, padding=1)
            self.change = change

        def forward(self, x):
            y = torch.relu(self.conv(x))
            return y if self.change is None else self.change(y)

    layers = [torch.nn.Conv2d(3, 8, 3, padding=1), Block(), Block(spoil), Block()]
    return torch.nn.Sequential(*layers).eval().to(memory_format=torch.channels_last)


def example(torch):
    return torch.randn(2, 3, 12, 10).to(memory_format=torch.channels_last)


@pytest.fixture(name="torch")
def fixture_torch():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.utils._python_dispatch").TorchDispatchMode
    return torch


def test_kept(torch):
    found = relayout.explain(net(torch), example(torch))
    assert found.losses == [] and "kept throughout" in str(found)
    assert sum(each.operator == "aten.convolution" for each in found.operators) == 4


def test_strides_are_those_of_the_tensors(torch):
    first = relayout.explain(net(torch), example(torch)).operators[0]
    assert first.operator == "aten.convolution" and first.module == "0"
    assert first.before[0] == ((2, 3, 12, 10), (360, 1, 30, 3), "channels_last")
    assert first.after == [((2, 8, 12, 10), (960, 1, 80, 8), "channels_last")]


@pytest.mark.parametrize("spoil, operator", [
    (lambda y: y.contiguous(), "aten.clone"),
    (lambda y: y.flatten(1).unflatten(1, (8, 12, 10)), "aten.clone"),
])
def test_a_copy_loses_it(torch, spoil, operator):
    found = relayout.explain(net(torch, spoil), example(torch))
    assert len(found.losses) == 1, str(found)
    loss = found.losses[0]
    assert (loss.operator, loss.module) == (operator, "2")
    assert loss.before[0].format == "channels_last"
    assert loss.conversion_ms > 0
    assert "2" in loss.change and "memory_format=torch.channels_last" in loss.change


def test_the_least_change_keeps_it(torch):
    """What is advised, done: nothing is lost."""
    found = relayout.explain(net(torch, lambda y: y.contiguous(memory_format=torch.channels_last)), example(torch))
    assert found.losses == []


def test_a_plain_partner_loses_it(torch):
    plain = torch.ones(2, 8, 12, 10)
    found = relayout.explain(net(torch, lambda y: torch.add(plain, y)), example(torch))
    assert [loss.operator for loss in found.losses] == ["aten.add"], str(found)
    assert "source 0" in found.losses[0].change
    partner = plain.to(memory_format=torch.channels_last)
    assert relayout.explain(net(torch, lambda y: torch.add(partner, y)), example(torch)).losses == []


def test_an_input_that_is_plain(torch):
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()
    found = relayout.explain(module, torch.randn(1, 3, 12, 10))
    assert [loss.operator for loss in found.losses] == ["aten.convolution"]
    assert "input" in found.losses[0].change


def test_what_is_costed(torch):
    found = relayout.explain(net(torch, lambda y: y.contiguous()), example(torch))
    assert found.losses[0].operators >= 1 and found.losses[0].convolutions == 1
    assert found.losses[0].copies_ms > 0
    assert json.loads(json.dumps(found.to_dict()))["losses"][0]["operator"] == "aten.clone"
    assert "aten.clone in 2" in found.table()


def test_what_a_change_saves_is_measured(torch, monkeypatch):
    """Operators take a second for each plain source on a clock that stands still else, so that what a change saves is
    the number of operators that have one."""
    from relayout import _lost_formats
    now = [0.0]
    run = _lost_formats._Changes.run

    def slow(self, func, args, kwargs):
        result = run(self, func, args, kwargs)
        formats = [each.format for each in _lost_formats._described(list(args))]
        now[0] += "contiguous" in formats[:1]
        return result

    monkeypatch.setattr(_lost_formats._Changes, "run", slow)
    monkeypatch.setattr(_lost_formats.time, "perf_counter", lambda: now[0])
    found = relayout.explain(net(torch, lambda y: y.contiguous()), example(torch))
    assert found.losses[0].saves_ms == 1000  # the convolution behind the copy, whose result has the format again
    assert "saves  1000.000 ms" in str(found) and found.saves_ms is None


def test_a_loss_that_goes_with_another(torch):
    """A copy, and behind it a sum with what was there before: the copy left out, both are gone."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Conv2d(8, 8, 3, padding=1)

        def forward(self, x):
            plain = self.first(x).contiguous()
            return torch.cat([plain, self.second(plain)], 1)

    module = Net().eval().to(memory_format=torch.channels_last)
    found = relayout.explain(module, example(torch))
    assert [(loss.operator, loss.goes_with) for loss in found.losses] == [
        ("aten.clone", None), ("aten.cat", found.losses[0].number)], str(found)
    assert "it goes with number 1" in str(found)


def test_a_change_that_cannot_be_tried(torch):
    """A view of the copy needs the plain order."""
    found = relayout.explain(net(torch, lambda y: y.contiguous().view(2, -1).view(2, 8, 12, 10)), example(torch))
    assert [loss.saves_ms for loss in found.losses] == [None]
    assert "could not be tried" in str(found)


def test_a_module_is_left_as_it_was(torch):
    module = net(torch)
    relayout.explain(module, example(torch))
    assert not any(child._forward_hooks or child._forward_pre_hooks for child in module.modules())


def test_an_example_is_asked_for():
    with pytest.raises(relayout.InvalidArgumentError, match="example"):
        relayout.explain(lambda x: x)


@pytest.mark.skipif(not SAMPLES.exists(), reason="the samples are in the source tree")
def test_a_log():
    pytest.importorskip("relayout._models")
    found = relayout.explain(SAMPLES / "onednn_program.log", elsewhere=True)
    assert found.report["runs"] == 4
    verdicts = {(r["src"], r["dst"], tuple(r["dims"])): r["verdict"] for r in found.report["reorders"]}
    assert verdicts["abcd", "ABcd8b8a", (32, 16, 3, 3)] == "repeated"
    assert str(found).startswith("oneDNN 2.6.3")
    assert len(found.replays) == len(found.report["reorders"]) and "dnnl::reorder" in found.replays[0]


@pytest.mark.skipif(not SAMPLES.exists(), reason="the samples are in the source tree")
def test_a_log_in_utf16(tmp_path):
    pytest.importorskip("relayout._models")
    (tmp_path / "log.txt").write_text((SAMPLES / "onednn_program.log").read_text(), encoding="utf-16")
    assert str(relayout.explain(tmp_path / "log.txt", elsewhere=True)).startswith("oneDNN 2.6.3")


def test_a_text_that_is_no_log(tmp_path):
    pytest.importorskip("relayout._models")
    (tmp_path / "x.txt").write_text("hello")
    with pytest.raises(relayout.ParseError, match="none of the forms"):
        relayout.explain(tmp_path / "x.txt")
