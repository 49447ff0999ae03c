"""relayout.explain(): where a model of PyTorch loses channels_last, and why other programs' reorders are there.

    found = relayout.explain(model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last))
    print(found)                       # the operator that loses it, what it costs, the least change that keeps it
    found.losses[0].operator           # "aten.clone"
    found.losses[0].module             # "features.3"

    print(relayout.explain("log.txt"))  # a log of oneDNN, a profile of ONNX Runtime ...: `relayout explain` of it
"""
from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from ._errors import InvalidArgumentError, UnsupportedError

__all__ = ["Explanation", "SourceExplanation", "explain"]

_REPEATS = 5
#: Operators that only hand a tensor on, or describe it.
_VIEWS = ("detach", "alias", "t", "transpose", "permute", "expand", "slice", "select", "unsqueeze", "squeeze", "split",
          "chunk", "as_strided", "lift_fresh")


class TensorStrides(NamedTuple):
    """A tensor of an operator as it lies in memory."""

    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  # in elements
    #: "channels_last", "contiguous", "both" (one channel, or one row and column), "neither"; "" unless it has 4 or 5
    #: dims.
    format: str


class Operator(NamedTuple):
    """One call of an operator, with its tensors before and after, in the order of the arguments."""

    number: int
    operator: str  # "aten.convolution"
    module: str  # the innermost module that calls it, "features.3"; "" for the model itself
    before: List[TensorStrides]
    after: List[TensorStrides]
    ms: float


class Loss(NamedTuple):
    """A place where a tensor comes out without channels_last though one went in with it, or where none ever had it."""

    number: int
    operator: str
    module: str
    before: List[TensorStrides]
    after: TensorStrides
    #: How many operators, and convolutions of them, work without channels_last behind it, up to one that has it again.
    operators: int
    convolutions: int
    #: Milliseconds: of the operators that only copy in this stretch, and what one conversion of the tensor takes here.
    copies_ms: float
    conversion_ms: float
    why: str
    change: str


class Explanation:
    """What became of channels_last in one call of a module."""

    def __init__(self, operators: List[Operator], losses: List[Loss], ms: float) -> None:
        self.operators = operators
        self.losses = losses
        self.ms = ms

    def to_dict(self) -> Dict[str, Any]:
        """All of it as plain values, for JSON."""

        def plain(value: Any) -> Any:
            if hasattr(value, "_asdict"):
                return {key: plain(each) for key, each in value._asdict().items()}
            return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value

        return {"ms": self.ms, "operators": plain(self.operators), "losses": plain(self.losses)}

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
        lines = [head + f"; channels_last is lost {len(self.losses)} time" + ("s" if len(self.losses) > 1 else "")]
        for number, loss in enumerate(self.losses, 1):
            where = f" in {loss.module}" if loss.module else ""
            lines += ["", f"{number}  {loss.operator}{where} (operator {loss.number})"]
            lines += [f"   from   {_words(tensor)}" for tensor in loss.before]
            lines += [f"   to     {_words(loss.after)}",
                      f"   why    {loss.why}",
                      f"   costs  {loss.operators} operators behind it work without channels_last, "
                      f"{loss.convolutions} of them convolutions; copies among them take {loss.copies_ms:.3f} ms, "
                      f"and one conversion of the tensor {loss.conversion_ms:.3f} ms",
                      f"   do     {loss.change}"]
        return "\n".join(lines)

    __repr__ = __str__


class SourceExplanation:
    """The report of `relayout explain` of a log, a profile or a graph."""

    def __init__(self, text: str, report: Dict[str, Any], html: str) -> None:
        self.text = text
        #: A page that a browser opens from disk.
        self.html = html
        #: As --json prints it: "reorders", each with "src", "dst", "dims", "runs", "ms", "verdict" ...
        self.report = report

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def explain(what: Any, example: Any = None, *, profile: Union[str, "os.PathLike[str]", None] = None, runs: int = 0,
            elsewhere: bool = False) -> Union[Explanation, SourceExplanation]:
    """Of a module of PyTorch and an example of its input (a tensor, or a tuple of arguments): where channels_last is
    lost, by which operator, what it costs, and the least change that keeps it. The module is called a few times, as it
    is and without gradients.

    Of the path of a log, a profile, a graph or an ONNX model: why its reorders are there, as `relayout explain` says
    it. `profile` is TensorRT's, `runs` says how often the program ran its model, and `elsewhere` that it ran on another
    machine.
    """
    if isinstance(what, (str, os.PathLike)):
        return _explain_source(os.fspath(what), profile, runs, elsewhere)
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
        recorded = _record(torch, what, arguments)
        for _ in range(_REPEATS - 1):
            again = _record(torch, what, arguments)
            if [each.operator for each in again] == [each.operator for each in recorded]:
                recorded = [each._replace(ms=min(each.ms, other.ms)) for each, other in zip(recorded, again)]
        start = time.perf_counter()
        for _ in range(_REPEATS):
            what(*arguments)
        ms = 1e3 * (time.perf_counter() - start) / _REPEATS
        return Explanation(recorded, _losses(torch, recorded), ms)


def _explain_source(path: str, profile: Union[str, "os.PathLike[str]", None], runs: int,
                    elsewhere: bool) -> SourceExplanation:
    try:
        from . import _models
    except ImportError as error:
        raise UnsupportedError("explain: logs are read by the package relayout-models, which is not installed "
                               f"({error})", "relayout._models") from error
    if path.endswith(".onnx"):
        text, report, html = _models.explain_model(path, elsewhere)
    else:
        texts = [Path(each).read_text(encoding="utf-8", errors="replace") if each else "" for each in (path, profile)]
        text, report, html = _models.explain_text(*texts, runs, elsewhere)
    return SourceExplanation(text, json.loads(report), html)


def _format_of(tensor: Any) -> str:
    import torch

    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensor.dim())
    if last is None or tensor.numel() == 0:
        return ""
    plain, ours = tensor.is_contiguous(), tensor.is_contiguous(memory_format=last)
    return "both" if plain and ours else "contiguous" if plain else "channels_last" if ours else "neither"


def _words(tensor: TensorStrides) -> str:
    return (f"{'x'.join(map(str, tensor.shape)) or 'scalar'}, strides {','.join(map(str, tensor.strides)) or '-'}" +
            (f", {tensor.format}" if tensor.format else ""))


def _described(values: Any) -> List[TensorStrides]:
    import torch

    out: List[TensorStrides] = []
    for value in values if isinstance(values, (tuple, list)) else (values,):
        if isinstance(value, (tuple, list)):
            out += _described(value)
        elif isinstance(value, torch.Tensor) and value.layout == torch.strided:
            out.append(TensorStrides(tuple(value.shape), tuple(value.stride()), _format_of(value)))
    return out


def _record(torch: Any, module: Any, arguments: Sequence[Any]) -> List[Operator]:
    """The operators of one call, with the modules that call them."""
    from torch.utils._python_dispatch import TorchDispatchMode

    inside: List[str] = []
    out: List[Operator] = []

    class Recorder(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict] = None) -> Any:
            kwargs = kwargs or {}
            before = _described([*args, *kwargs.values()])
            start = time.perf_counter()
            result = func(*args, **kwargs)
            ms = 1e3 * (time.perf_counter() - start)
            name = str(func.overloadpacket) if hasattr(func, "overloadpacket") else str(func)
            out.append(Operator(len(out), name, inside[-1] if inside else "", before, _described(result), ms))
            return result

    hooks = []
    for name, child in getattr(module, "named_modules", lambda: ())():
        hooks.append(child.register_forward_pre_hook(lambda *_, name=name: inside.append(name)))
        hooks.append(child.register_forward_hook(lambda *_: (inside.pop(), None)[1]))
    try:
        with Recorder():
            module(*arguments)
    finally:
        for hook in hooks:
            hook.remove()
    return out


def _is_copy(operator: str) -> bool:
    return operator.split(".")[-1] in ("clone", "contiguous", "_to_copy", "copy_", "to")


def _losses(torch: Any, operators: List[Operator]) -> List[Loss]:
    """Where a result is plain though a source was channels_last; and a first convolution of plain tensors. A loss
    behind which the format has not come back is part of the one before."""
    starts: List[Tuple[int, TensorStrides]] = []
    lost = False
    for each in operators:
        results = [tensor for tensor in each.after if tensor.format in ("contiguous", "channels_last", "neither")]
        sources = [tensor.format for tensor in _data(each)]
        plain = next((tensor for tensor in results if tensor.format != "channels_last"), None)
        if plain is not None and each.operator.split(".")[-1] not in _VIEWS and not lost:
            if "channels_last" in sources:
                starts.append((each.number, plain))
                lost = True
            elif each.operator.startswith("aten.convolution"):
                starts.append((each.number, plain))
                lost = True
        elif lost and any(tensor.format == "channels_last" for tensor in results):
            lost = False
    return [_loss(torch, operators, number, plain) for number, plain in starts]


def _data(each: Operator) -> List[TensorStrides]:
    """The sources that are data: of a convolution not its weights."""
    return each.before[:1] if each.operator.startswith("aten.convolution") else each.before


def _loss(torch: Any, operators: List[Operator], number: int, plain: TensorStrides) -> Loss:
    behind = []
    for each in operators[number + 1:]:
        if any(tensor.format in ("contiguous", "neither") for tensor in _data(each)):
            behind.append(each)
        if any(tensor.format == "channels_last" for tensor in each.after):
            break
    at = operators[number]
    copies = [each.ms for each in [at, *behind] if _is_copy(each.operator)]
    why, change = _reason(at)
    return Loss(number, at.operator, at.module, at.before, plain, len(behind),
                sum(each.operator.startswith("aten.convolution") for each in behind), sum(copies),
                _conversion_ms(torch, plain), why, change)


def _conversion_ms(torch: Any, tensor: TensorStrides) -> float:
    """What PyTorch takes to bring the tensor into channels_last: the least of a few."""
    last = torch.channels_last if len(tensor.shape) == 4 else torch.channels_last_3d
    x = torch.zeros(tensor.shape)
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        x.contiguous(memory_format=last)
        times.append(1e3 * (time.perf_counter() - start))
    return min(times)


def _reason(at: Operator) -> Tuple[str, str]:
    """Why an operator lost the format, and the least change that keeps it."""
    name = at.operator.split(".")[-1]
    sources = [tensor.format for tensor in _data(at)]
    here = f" in {at.module}" if at.module else ""
    if at.operator.startswith("aten.convolution") and "channels_last" not in sources:
        weights = at.before[1].format if len(at.before) > 1 else ""
        return ("neither its source nor its weights are channels_last" if weights != "channels_last" else
                "its source is not channels_last",
                "bring the model's input into the format, x.to(memory_format=torch.channels_last), and the weights, "
                "model.to(memory_format=torch.channels_last)")
    if _is_copy(at.operator):
        return ("it copies the tensor into the plain format, as .contiguous(), .clone() and .to() do with "
                "memory_format=torch.contiguous_format, and .reshape() and .view() of what has another order",
                f"leave the copy{here} out, or write .contiguous(memory_format=torch.channels_last)")
    if "contiguous" in sources or "neither" in sources:
        which = ", ".join(str(k) for k, word in enumerate(sources) if word in ("contiguous", "neither"))
        return (f"its tensors are of several formats, and the result has that of the plain one (source {which})",
                f"bring source {which} of {name}{here} into the format first, "
                ".to(memory_format=torch.channels_last), once and outside the model where it does not change")
    return (f"{name} writes the plain format, whatever the format of its source",
            f"put .contiguous(memory_format=torch.channels_last) behind {name}{here}, which costs one conversion, or "
            "use an operator that keeps the format")
