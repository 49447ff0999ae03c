"""relayout.show(): a layout, two of them, an array or a planned model as a page for a notebook, a browser or a file."""
from __future__ import annotations

import os
import tempfile
import webbrowser
from html import escape
from pathlib import Path
from typing import Any, List, Tuple, Union

from . import _native
from ._arrays import host_view, is_torch
from ._dtypes import name_of
from ._errors import InvalidArgumentError, LimitError
from ._layout import layout_of
from ._native import Layout

__all__ = ["Page", "show"]

_MOST_VALUES = 16384


def _without_fields(html: str) -> str:
    """The page without the library in WebAssembly, which only its fields for typing need."""
    begin, mark, rest = html.partition('<script type="text/plain" id="core">')
    return begin + rest.partition("</script>\n")[2] if mark else html


class Page:
    """A page of HTML with all that it needs inside: a notebook shows it, save() writes a file, and open_in_browser()
    opens one.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page to a file, which is replaced if it exists."""
        Path(path).write_text(self.html, encoding="utf-8")

    def open_in_browser(self) -> str:
        """Opens the page in the browser; the path of its temporary file, which stays."""
        handle, path = tempfile.mkstemp(suffix=".html", prefix="relayout-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(self.html)
        webbrowser.open(Path(path).as_uri())
        return path

    def _repr_html_(self) -> str:
        """A frame that may run the page's own script and nothing else of the notebook. It has no fields for typing, so
        that a notebook of many pages stays small."""
        page = escape(_without_fields(self.html))
        return (f'<iframe sandbox="allow-scripts" title="relayout" srcdoc="{page}" '
                'style="width:100%;height:760px;border:1px solid #d0d7de"></iframe>')


def _side(given: Any, name: str, dtype: Any) -> Tuple[Layout, str, str, List[str]]:
    if isinstance(given, Layout):
        return given, name, name_of(dtype), []
    view = host_view(given)
    array = view.detach().numpy() if is_torch(view) else view
    if array.size > _MOST_VALUES:
        raise LimitError(f"the array has {array.size} elements, and the values of up to {_MOST_VALUES} are shown; show "
                         "a part of it, or relayout.layout_of(x)", "elements", str(array.size), str(_MOST_VALUES))
    return layout_of(given), name, name_of(array.dtype), [str(value) for value in array.reshape(-1).tolist()]


def show(what: Any, other: Any = None, *, dtype: Any = "f32", title: str = "", plan: bool = True) -> Page:
    """A page that shows where each element lies, and of two layouts of one tensor where they part and how a reorder
    moves the elements of the first to the second; of a planned model its graph coloured by layout.

    what, other: layouts, or arrays of up to 16,384 elements, whose values are shown; or one model of plan(). dtype: the
    type of the elements of layouts; arrays have their own. plan: whether a page of two shows their reorder. Errors:
    LimitError (more elements, offsets from 2^53 on), InvalidArgumentError (two of different dims), and those of
    layout_of().

        relayout.show(relayout.layout("nChw8c", (2, 17, 5, 4))).save("x.html")
        relayout.show(relayout.plan("net.onnx"))
    """
    from ._model import Model  # which makes pages itself
    models = [side for side in (what, other) if isinstance(side, Model)]
    if models and other is None:
        return models[0].page(title)
    if models:
        raise InvalidArgumentError("a planned model is shown by itself, with the plans of all policies side by side",
                                   "other", repr(other))
    if other is None:
        sides = [_side(what, "", dtype)]
    else:
        sides = [_side(what, "A", dtype), _side(other, "B", dtype)]
        dims = [side[0].dims for side in sides]
        if dims[0] != dims[1]:
            raise InvalidArgumentError(
                f"A has dims {dims[0]}, and B has {dims[1]}: both describe one tensor, so they must be the same, in "
                f"the same order; expected are dims {dims[0]} on both sides", "other", str(dims[1]), str(dims[0]))
    return Page(_native._page(sides, title, plan))
