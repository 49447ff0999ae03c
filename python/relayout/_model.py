"""Models: the cheapest layouts of an ONNX model, and the model run in them.

    plan = relayout.plan("net.onnx")
    print(plan)                                    # each primitive with its layouts, each reorder with its reason
    outputs = relayout.run(plan, {"x": photo})     # or relayout.run("net.onnx", photo)
"""
from __future__ import annotations

import functools
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._arrays import empty, host_view, is_torch, like_caller, with_plain_elements
from ._dtypes import name_of
from ._errors import InvalidArgumentError, UnsupportedError
from ._progress import Progress
from ._show import Page


class Operand(NamedTuple):
    """An input or output of a model."""

    name: str
    dims: Tuple[int, ...]
    dtype: str


class Node(NamedTuple):
    """A primitive of a plan, with the layouts that it reads and writes."""

    name: str
    implementation: str
    src_layouts: List[str]
    dst_layouts: List[str]


class Model:
    """A model with its cheapest plan, ready to run. Made by plan()."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], *, dims: Optional[Mapping[str, int]] = None,
                 batch: Optional[int] = None, inputs: Any = None, input_scale: float = 1.0,
                 speeds: Optional[Mapping[str, float]] = None):
        try:
            from ._models import PlannedModel
        except ModuleNotFoundError as error:
            if error.name != "relayout._models":
                raise
            raise UnsupportedError(
                "relayout.plan: what plans models is a package of its own; `pip install ./python/models` in a clone "
                "adds it",
                field="relayout._models") from error
        if batch is not None and batch < 1:
            raise InvalidArgumentError(f"batch {batch}: it is at least 1", "batch", str(batch), "1...")
        self._native = PlannedModel(path, input_scale, speeds, list((dims or {}).items()), batch or 0,
                                    [] if inputs is None else _shapes_of(inputs))
        self.inputs = [Operand(*row) for row in self._native.inputs()]
        # Another process may have another folder, and no arrays.
        every = {f"{x.name}[{d}]": extent for x in self.inputs for d, extent in enumerate(x.dims) if d or not batch}
        self._made_of = os.path.abspath(path), every, batch, input_scale, speeds
        self.outputs = [Operand(*row) for row in self._native.outputs()]
        self.nodes = [Node(*row) for row in self._native.nodes()]
        #: Why each reorder is there.
        self.reorders: List[str] = self._native.reorders()
        #: What the importer and the calibration of the machine have to say.
        self.warnings: List[str] = self._native.warnings()
        cost: Dict[str, Any] = self._native.cost()
        #: Predicted microseconds of one run.
        self.primitives_us: float = cost["primitives_us"]
        self.reorders_us: float = cost["reorders_us"]
        #: The speeds of the machine by which the plan was chosen, for plan(..., speeds=).
        self.speeds: Dict[str, float] = self._native.speeds()
        #: What was minimised, in which moved bytes count twice, and whether no plan is proven to cost less.
        self.cost_us: float = cost["cost_us"]
        self.optimal: bool = cost["optimal"]

    def run(self, inputs: Union[Any, Sequence[Any], Mapping[str, Any]], *,
            progress: Optional[Progress] = None) -> Dict[str, Any]:
        """The outputs by their names, as arrays of the first input's library.

        inputs: one array, a sequence in the order of `inputs`, or a mapping by their names. They may have any strides
        and types; those of another type are converted. Values are multiplied by input_scale.
        progress: called as progress(done, total) before each primitive and reorder, with how many are done and how many
        there are at most; done == total in the last call. What it raises ends the run, as Ctrl-C does between two of
        them.
        """
        given = self._arranged(inputs)
        views = [with_plain_elements(host_view(x)) for x in given]
        for operand, view in zip(self.inputs, views):
            shape = tuple(view.shape)
            if shape != operand.dims:
                raise InvalidArgumentError(f"input {operand.name!r} has dims {operand.dims}, and the array is {shape}; "
                                           "a plan is for one shape, which plan(..., inputs=) takes from arrays",
                                           operand.name, str(shape), str(operand.dims))
        first = given[0] if given else None
        # A tensor of PyTorch is written to directly; other libraries take memory that is aligned as theirs.
        made = [empty(operand.dims, operand.dtype, like=first if is_torch(first) else None) for operand in self.outputs]
        self._native.run([(view, name_of(view.dtype)) for view in views],
                         [(array, operand.dtype) for array, operand in zip(made, self.outputs)], progress)
        return {operand.name: _as_caller(first, array)
                for operand, array in zip(self.outputs, made)}

    def page(self, title: str = "") -> Page:
        """The graph coloured by layout, with its reorders and the plans of all policies: what relayout.show(model) is,
        and what a notebook shows. title: the file's name unless given.
        """
        return Page(self._native.page(title or os.path.basename(self._made_of[0])))

    def _repr_html_(self) -> str:
        return self.page()._repr_html_()

    def __reduce__(self) -> Tuple[Any, ...]:
        """A model is pickled by its file's absolute path and what else made it, and planned again where it is loaded,
        which may be another machine."""
        path, dims, batch, input_scale, speeds = self._made_of
        return functools.partial(Model, dims=dims, batch=batch, input_scale=input_scale, speeds=speeds), (path,)

    def _arranged(self, inputs: Any) -> List[Any]:
        if isinstance(inputs, Mapping):
            missing = [operand.name for operand in self.inputs if operand.name not in inputs]
            extra = [name for name in inputs if name not in {operand.name for operand in self.inputs}]
            if missing or extra:
                raise InvalidArgumentError(f"the inputs are {[operand.name for operand in self.inputs]}; missing: "
                                           f"{missing}, unknown: {extra}", "inputs")
            return [inputs[operand.name] for operand in self.inputs]
        given = _listed(inputs)
        if len(given) != len(self.inputs):
            raise InvalidArgumentError(f"the model has {len(self.inputs)} inputs, and {len(given)} arrays are given",
                                       "inputs", str(len(given)), str(len(self.inputs)))
        return given

    def __str__(self) -> str:
        lines = [self._native.explanation()]
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<relayout.Model of {len(self.nodes)} primitives and {len(self.reorders)} reorders>"


def _listed(inputs: Any) -> List[Any]:
    return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]


def _shapes_of(inputs: Any) -> List[Tuple[str, Tuple[int, ...]]]:
    """The shapes of arrays, with the names of their inputs, or "" where they stand in the model's order."""
    named = list(inputs.items()) if isinstance(inputs, Mapping) else [("", x) for x in _listed(inputs)]
    return [(name, tuple(with_plain_elements(host_view(x)).shape)) for name, x in named]


def _as_caller(x: Any, array: Any) -> Any:
    wrap = None if x is None else like_caller(x)
    return wrap(array) if wrap else array


def plan(path: Union[str, "os.PathLike[str]"], *, dims: Optional[Mapping[str, int]] = None,
         batch: Optional[int] = None, inputs: Any = None, input_scale: float = 1.0,
         speeds: Optional[Mapping[str, float]] = None) -> Model:
    """The model of an .onnx file in the layouts that cost the least on this machine, which is measured for it.

    dims: extents that the file leaves open, by their names or as input[dim]: {"batch": 3, "x[2]": 224}. batch: the
    first dim of all inputs, which replaces the file's; 1 where nothing says it. inputs: arrays like those that the
    model will be run with, as run() takes them, whose shapes say what is still open.
    input_scale multiplies the values of all inputs, such as those of photos in u8. speeds: those of another Model,
    `model.speeds`, which may be kept in a file. Without them the first plan of a process measures the machine, which
    takes less than a second on a quiet machine and many on a busy one, where later plans try again. Ctrl-C ends the
    measuring and the search. Errors: FileError, CorruptError, UnsupportedError (an operator; a build without ONNX or
    oneDNN), InvalidArgumentError (a dim that nothing says, or that the model lacks; speeds that no machine has).
    """
    return Model(path, dims=dims, batch=batch, inputs=inputs, input_scale=input_scale, speeds=speeds)


def run(model: Union[Model, str, "os.PathLike[str]"], inputs: Any, *,
        progress: Optional[Progress] = None) -> Dict[str, Any]:
    """Runs a planned model, or plans the model of a file for the shapes of these inputs and runs it once. See
    Model.run()."""
    return (model if isinstance(model, Model) else plan(model, inputs=inputs)).run(inputs, progress=progress)
