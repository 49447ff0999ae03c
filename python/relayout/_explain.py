"""relayout.explain(): where a model of PyTorch loses channels_last, and why other programs' reorders are there.

    found = relayout.explain(model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last))
    print(found)                       # the operator that loses it, the least change that keeps it, what that saves
    found.losses[0].operator           # "aten.clone"; the one whose change saves most comes first
    found.losses[0].module             # "features.3"

    print(relayout.explain("log.txt"))  # a log of oneDNN, a profile of ONNX Runtime ...: `relayout explain` of it
"""
from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from ._errors import InvalidArgumentError, UnsupportedError
from ._lost_formats import Loss, Operator, TensorStrides, losses_of, record_often

__all__ = ["Explanation", "SourceExplanation", "explain"]

_REPEATS = 5


class Explanation:
    """What became of channels_last in one call of a module."""

    def __init__(self, operators: List[Operator], losses: List[Loss], ms: float,
                 saves_ms: Optional[float] = None) -> None:
        self.operators = operators
        #: What saves most first; behind each those that go with it.
        self.losses = losses
        self.ms = ms
        #: What all changes save together, in a call; None of fewer than two.
        self.saves_ms = saves_ms

    def to_dict(self) -> Dict[str, Any]:
        """All of it as plain values, for JSON."""

        def plain(value: Any) -> Any:
            if hasattr(value, "_asdict"):
                return {key: plain(each) for key, each in value._asdict().items()}
            return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value

        return {"ms": self.ms, "saves_ms": self.saves_ms, "operators": plain(self.operators),
                "losses": plain(self.losses)}

    def table(self) -> str:
        """Every operator with the strides before and after it."""
        lines = []
        for each in self.operators:
            where = f" in {each.module}" if each.module else ""
            lines.append(f"{each.number:4}  {each.operator}{where}, {each.ms:.3f} ms")
            for word, tensors in (("from", each.before), ("to", each.after)):
                lines += [f"      {word:4} {_words(tensor)}" for tensor in tensors]
        return "\n".join(lines)

    def __str__(self) -> str:
        convolutions = sum(each.operator.startswith("aten.convolution") for each in self.operators)
        head = f"{len(self.operators)} operators, {convolutions} of them convolutions, {self.ms:.3f} ms"
        if not self.losses:
            return head + "; channels_last is kept throughout"
        lines = [head + f"; channels_last is lost {_counted(len(self.losses), 'time')}"]
        if self.saves_ms is not None:
            lines.append(f"All changes together save {self.saves_ms:.3f} ms a call, measured.")
        places = {loss.number: place for place, loss in enumerate(self.losses, 1)}
        for place, loss in enumerate(self.losses, 1):
            lines += _loss_lines(place, loss, places)
        return "\n".join(lines)

    __repr__ = __str__


def _loss_lines(place: int, loss: Loss, places: Dict[int, int]) -> List[str]:
    where = f" in {loss.module}" if loss.module else ""
    lines = ["", f"{place}  {loss.operator}{where} (operator {loss.number})"]
    lines += [f"   from   {_words(tensor)}" for tensor in loss.before]
    lines += [f"   to     {_words(loss.after)}", f"   why    {loss.why}"]
    if loss.goes_with is not None:
        return [*lines, f"   do     nothing: it goes with number {places[loss.goes_with]}"]
    lines += [f"   costs  without channels_last behind it: {_counted(loss.operators, 'operator')}, "
              f"{_counted(loss.convolutions, 'convolution')} of them; copies among them take {loss.copies_ms:.3f} ms, "
              f"and one conversion of the tensor {loss.conversion_ms:.3f} ms",
              f"   do     {loss.change}"]
    if loss.saves_ms is None:
        lines.append("   saves  not known: the change could not be tried")
    elif loss.saves_ms > 0:
        lines.append(f"   saves  {loss.saves_ms:.3f} ms a call, measured by calls without and with the change in turns")
    else:
        lines.append(f"   saves  nothing: with the change a call takes {-loss.saves_ms:.3f} ms more, measured in turns")
    return lines


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


class SourceExplanation:
    """The report of `relayout explain` of a log, a profile or a graph."""

    def __init__(self, text: str, report: Dict[str, Any], html: str, replays: List[str]) -> None:
        self.text = text
        #: For each row a text for a bug report, with a program that does the reorder alone.
        self.replays = replays
        #: A page that a browser opens from disk.
        self.html = html
        #: As --json prints it: "reorders", each with "src", "dst", "dims", "runs", "ms", "verdict" ...
        self.report = report

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def explain(what: Any, example: Any = None, *, profile: Union[str, "os.PathLike[str]", None] = None,
            model: Union[str, "os.PathLike[str]", None] = None, runs: int = 0,
            elsewhere: bool = False) -> Union[Explanation, SourceExplanation]:
    """Of a module of PyTorch and an example of its input (a tensor, or a tuple of arguments): where channels_last is
    lost, by which operator, what it costs, the least change that keeps it, and what a call is shorter with that. The
    module is called some dozens of times without gradients, as it is and with the changes.

    Of the path of a log, a profile, a graph or an ONNX model: why its reorders are there, as `relayout explain` says
    it. `profile` is TensorRT's, `model` the optimised one of an ONNX Runtime profile, `runs` says how often the program
    ran its model, and `elsewhere` that it ran on another machine.
    """
    if isinstance(what, (str, os.PathLike)):
        return _explain_source(os.fspath(what), profile, model, runs, elsewhere)
    if example is None:
        raise InvalidArgumentError("explain: a module needs an example of its input, explain(module, x)", "example")
    try:
        import torch
        from torch.utils._python_dispatch import TorchDispatchMode  # noqa: F401 - from PyTorch 1.13 on
    except ImportError as error:
        raise UnsupportedError(f"explain: this needs PyTorch 1.13 or newer ({error})", "torch") from error
    if not callable(what):
        raise InvalidArgumentError(f"explain: {type(what).__name__} is no module and no path", "what",
                                   type(what).__name__)
    arguments = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    with torch.no_grad():
        for _ in range(2):
            what(*arguments)
        recorded = record_often(what, arguments)
        start = time.perf_counter()
        for _ in range(_REPEATS):
            what(*arguments)
        ms = 1e3 * (time.perf_counter() - start) / _REPEATS
        losses, together = losses_of(what, arguments, recorded)
        return Explanation(recorded, losses, ms, together)


def _text_at(path: Union[str, "os.PathLike[str]"]) -> str:
    """A file as text: UTF-8, or UTF-16 by its mark, as PowerShell writes what a program prints."""
    data = Path(path).read_bytes()
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")


def _explain_source(path: str, profile: Union[str, "os.PathLike[str]", None],
                    model: Union[str, "os.PathLike[str]", None], runs: int, elsewhere: bool) -> SourceExplanation:
    try:
        from . import _models
    except ImportError as error:
        raise UnsupportedError("explain: logs are read by the package relayout-models, which is not installed "
                               f"({error})", "relayout._models") from error
    if path.endswith(".onnx"):
        found = _models.explain_model(path, elsewhere)
    else:
        found = _models.explain_text(_text_at(path), _text_at(profile) if profile else "",
                                     os.fspath(model) if model else "", runs, elsewhere)
    text, report, html, replays = found
    return SourceExplanation(text.decode("utf-8", "replace"), json.loads(report), html,
                             [each.decode("utf-8", "replace") for each in replays])


def _words(tensor: TensorStrides) -> str:
    return (f"{'x'.join(map(str, tensor.shape)) or 'scalar'}, strides {','.join(map(str, tensor.strides)) or '-'}" +
            (f", {tensor.format}" if tensor.format else ""))
