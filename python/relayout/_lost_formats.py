"""Where a call of PyTorch loses channels_last, and what it saves to keep it: for explain().

Operators are seen by PyTorch's dispatch mode. A change is tried by making it inside the mode: the call is timed as it
is and with the change, in turns.
"""
from __future__ import annotations

import copy
import statistics
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

_REPEATS = 5
#: Calls of each kind that a change is tried by: more of short ones.
_PAIRS, _PAIRS_OF_LONG, _LONG_MS = 9, 3, 500.0
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
    #: Milliseconds by which a call is shorter with the change: the median of calls without and with it, in turns, under
    #: the dispatch mode. A conversion that is done once and outside the model does not count. None where the change
    #: could not be tried, or goes with another one.
    saves_ms: Optional[float] = None
    #: The number of the operator by whose change this loss goes as well.
    goes_with: Optional[int] = None


class _Reason(NamedTuple):
    why: str
    change: str
    #: What the change does to the operator: converts its "sources" or its "result", with or without the time for it
    #: ("result, free"), or the "module" and its input.
    trial: str


def format_of(tensor: Any) -> str:
    import torch

    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensor.dim())
    if last is None or tensor.numel() == 0:
        return ""
    plain, ours = tensor.is_contiguous(), tensor.is_contiguous(memory_format=last)
    return "both" if plain and ours else "contiguous" if plain else "channels_last" if ours else "neither"


def _converted(tensor: Any) -> Any:
    import torch

    return tensor.contiguous(memory_format=torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d)


def _each_tensor(values: Any, change: Callable[[Any], Any]) -> Any:
    """The same values with each tensor of theirs changed."""
    import torch

    if isinstance(values, torch.Tensor):
        return change(values)
    if isinstance(values, (tuple, list)):
        changed = [_each_tensor(value, change) for value in values]
        return changed if isinstance(values, list) else tuple(changed)
    return values


def _described(values: Any) -> List[TensorStrides]:
    import torch

    out: List[TensorStrides] = []

    def describe(tensor: Any) -> Any:
        if tensor.layout == torch.strided:
            out.append(TensorStrides(tuple(tensor.shape), tuple(tensor.stride()), format_of(tensor)))
        return tensor

    _each_tensor(list(values) if isinstance(values, tuple) else values, describe)
    return out


def _name(func: Any) -> str:
    return str(func.overloadpacket) if hasattr(func, "overloadpacket") else str(func)


class _Changes:
    """What is done to the operators of one call, by their numbers."""

    def __init__(self, trials: Dict[int, str]) -> None:
        self.trials = trials
        self.number = 0
        #: Seconds that conversions took which the real change would not do in a call.
        self.free = 0.0
        self._made: Set[int] = set()

    def run(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        trial = self.trials.get(self.number, "")
        self.number += 1
        if trial == "sources":
            args = _each_tensor(list(args), self._source)
        result = func(*args, **kwargs)
        if trial.startswith("result"):
            result = _each_tensor(result, lambda each: self._timed(each, trial == "result, free"))
        if self.trials:
            _each_tensor(result, self._remember)
        return result

    def _remember(self, tensor: Any) -> Any:
        self._made.add(id(tensor))
        return tensor

    def _source(self, tensor: Any) -> Any:
        """One that no operator of the call made is converted once, before it."""
        return self._timed(tensor, id(tensor) not in self._made)

    def _timed(self, tensor: Any, free: bool) -> Any:
        if format_of(tensor) not in ("contiguous", "neither"):
            return tensor
        start = time.perf_counter()
        tensor = _converted(tensor)
        if free:
            self.free += time.perf_counter() - start
        return tensor


def record(module: Any, arguments: Sequence[Any], trials: Optional[Dict[int, str]] = None) -> List[Operator]:
    """The operators of one call, with the modules that call them."""
    from torch.utils._python_dispatch import TorchDispatchMode

    inside: List[str] = []
    out: List[Operator] = []
    changes = _Changes(trials or {})

    class Recorder(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            before = _described([*args, *kwargs.values()])
            start = time.perf_counter()
            result = changes.run(func, args, kwargs)
            ms = 1e3 * (time.perf_counter() - start)
            out.append(Operator(len(out), _name(func), inside[-1] if inside else "", before, _described(result), ms))
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


def record_often(module: Any, arguments: Sequence[Any]) -> List[Operator]:
    """The same with the least times of a few calls."""
    recorded = record(module, arguments)
    for _ in range(_REPEATS - 1):
        again = record(module, arguments)
        if [each.operator for each in again] == [each.operator for each in recorded]:
            recorded = [each._replace(ms=min(each.ms, other.ms)) for each, other in zip(recorded, again)]
    return recorded


def _call_ms(module: Any, arguments: Sequence[Any], trials: Dict[int, str]) -> float:
    """Milliseconds of a call under the mode, with the changes and without what is free of them."""
    from torch.utils._python_dispatch import TorchDispatchMode

    changes = _Changes(trials)

    class Changer(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return changes.run(func, args, kwargs or {})

    start = time.perf_counter()
    with Changer():
        module(*arguments)
    return 1e3 * (time.perf_counter() - start - changes.free)


def _in_turns(first: Callable[[], float], second: Callable[[], float]) -> Optional[float]:
    """By how much the second takes less: the median of differences. None where one of them fails."""
    try:
        once = max(first(), second())
        pairs = _PAIRS if once < _LONG_MS else _PAIRS_OF_LONG
        return statistics.median(first() - second() for _ in range(pairs))
    except Exception:  # noqa: BLE001 - a view of what now has other strides, a module that cannot be copied
        return None


def saving_of(module: Any, arguments: Sequence[Any], trials: Dict[int, str]) -> Optional[float]:
    """Milliseconds that a call is shorter with the changes."""
    if "module" not in trials.values():
        return _in_turns(lambda: _call_ms(module, arguments, {}), lambda: _call_ms(module, arguments, trials))
    import torch

    try:
        changed = copy.deepcopy(module).to(memory_format=torch.channels_last)
    except Exception:  # noqa: BLE001 - no module, or one that cannot be copied
        return None
    inputs = _each_tensor(list(arguments), lambda each: _converted(each) if each.dim() in (4, 5) else each)
    rest = {number: trial for number, trial in trials.items() if trial != "module"}
    return _in_turns(lambda: _call_ms(module, arguments, {}), lambda: _call_ms(changed, inputs, rest))


def _is_copy(operator: str) -> bool:
    return operator.split(".")[-1] in ("clone", "contiguous", "_to_copy", "copy_", "to")


def _data(each: Operator) -> List[TensorStrides]:
    """The sources that are data: of a convolution not its weights."""
    return each.before[:1] if each.operator.startswith("aten.convolution") else each.before


def _starts(operators: List[Operator]) -> List[Tuple[int, TensorStrides]]:
    """Where a result is plain though a source was channels_last; and a first convolution of plain tensors. A loss
    behind which the format has not come back is part of the one before."""
    starts: List[Tuple[int, TensorStrides]] = []
    lost = False
    for each in operators:
        results = [tensor for tensor in each.after if tensor.format in ("contiguous", "channels_last", "neither")]
        sources = [tensor.format for tensor in _data(each)]
        plain = next((tensor for tensor in results if tensor.format != "channels_last"), None)
        if plain is not None and each.operator.split(".")[-1] not in _VIEWS and not lost:
            if "channels_last" in sources or each.operator.startswith("aten.convolution"):
                starts.append((each.number, plain))
                lost = True
        elif lost and any(tensor.format == "channels_last" for tensor in results):
            lost = False
    return starts


def losses_of(module: Any, arguments: Sequence[Any],
              operators: List[Operator]) -> Tuple[List[Loss], Optional[float]]:
    """The losses, what saves most first and behind each those that go with it; and what all changes save together."""
    trials: Dict[int, str] = {}
    found: List[Loss] = []
    gone: Dict[Tuple[str, str, int], int] = {}
    names = _names(operators)
    for number, plain in _starts(operators):
        reason = _reason(operators[number])
        loss = _loss(operators, number, plain, reason)
        if names[number] in gone:
            found.append(loss._replace(goes_with=gone[names[number]]))
            continue
        saves = None
        if not operators[number].operator.endswith("_"):  # one that works in place has no other result
            saves = saving_of(module, arguments, {number: reason.trial})
        if saves is not None:
            trials[number] = reason.trial
            for other in _gone_with(module, arguments, operators, {number: reason.trial}):
                gone.setdefault(other, number)
        found.append(loss._replace(saves_ms=saves))
    together = saving_of(module, arguments, trials) if len(trials) > 1 else None
    rank = {loss.number: -(loss.saves_ms or 0.0) for loss in found if loss.goes_with is None}
    found.sort(key=lambda loss: (rank[loss.number if loss.goes_with is None else loss.goes_with],
                                 loss.goes_with is not None, loss.number))
    return found, together


def _names(operators: List[Operator]) -> List[Tuple[str, str, int]]:
    """Each operator by its name, its module and how many of that name came before it there."""
    seen: Dict[Tuple[str, str], int] = {}
    out = []
    for each in operators:
        key = (each.operator, each.module)
        out.append((*key, seen.get(key, 0)))
        seen[key] = seen.get(key, 0) + 1
    return out


def _gone_with(module: Any, arguments: Sequence[Any], operators: List[Operator],
               trials: Dict[int, str]) -> List[Tuple[str, str, int]]:
    """The names of later losses that are none once a change is made."""
    if "module" in trials.values():
        return []
    again = record(module, arguments, trials)
    left = {_names(again)[number] for number, _ in _starts(again)}
    names = _names(operators)
    return [names[number] for number, _ in _starts(operators) if number > min(trials) and names[number] not in left]


def _loss(operators: List[Operator], number: int, plain: TensorStrides, reason: _Reason) -> Loss:
    behind = []
    for each in operators[number + 1:]:
        if any(tensor.format in ("contiguous", "neither") for tensor in _data(each)):
            behind.append(each)
        if any(tensor.format == "channels_last" for tensor in each.after):
            break
    at = operators[number]
    copies = [each.ms for each in [at, *behind] if _is_copy(each.operator)]
    return Loss(number, at.operator, at.module, at.before, plain, len(behind),
                sum(each.operator.startswith("aten.convolution") for each in behind), sum(copies),
                _conversion_ms(plain), reason.why, reason.change)


def _conversion_ms(tensor: TensorStrides) -> float:
    """What PyTorch takes to bring the tensor into channels_last: the least of a few."""
    import torch

    x = torch.zeros(tensor.shape)
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        _converted(x)
        times.append(1e3 * (time.perf_counter() - start))
    return min(times)


def _reason(at: Operator) -> _Reason:
    """Why an operator lost the format, and the least change that keeps it."""
    name = at.operator.split(".")[-1]
    sources = [tensor.format for tensor in _data(at)]
    here = f" in {at.module}" if at.module else ""
    if at.operator.startswith("aten.convolution") and "channels_last" not in sources:
        weights = at.before[1].format if len(at.before) > 1 else ""
        return _Reason("neither its source nor its weights are channels_last" if weights != "channels_last" else
                       "its source is not channels_last",
                       "bring the model's input into the format, x.to(memory_format=torch.channels_last), and the "
                       "weights, model.to(memory_format=torch.channels_last)", "module")
    if _is_copy(at.operator):
        return _Reason("it copies the tensor into the plain format, as .contiguous(), .clone() and .to() do with "
                       "memory_format=torch.contiguous_format, and .reshape() and .view() of what has another order",
                       f"leave the copy{here} out, or write .contiguous(memory_format=torch.channels_last)",
                       "result, free")
    if "contiguous" in sources or "neither" in sources:
        which = ", ".join(str(k) for k, word in enumerate(sources) if word in ("contiguous", "neither"))
        return _Reason(f"its tensors are of several formats, and the result has that of the plain one (source {which})",
                       f"bring source {which} of {name}{here} into the format first, "
                       ".to(memory_format=torch.channels_last), once and outside the model where it does not change",
                       "sources")
    return _Reason(f"{name} writes the plain format, whatever the format of its source",
                   f"put .contiguous(memory_format=torch.channels_last) behind {name}{here}, which costs one "
                   "conversion, or use an operator that keeps the format", "result")
