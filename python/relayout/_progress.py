"""progress=: what long calls say of the work that is done.

    relayout.transpose(x, out=y, progress=lambda done, total: bar.update(done / total))
    relayout.checkpoint.convert("a.safetensors", "b.safetensors", "pytorch-mlx", progress=True)   # a bar of tqdm
"""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Optional, Type, Union

from ._errors import InvalidArgumentError

#: A function of the bytes that are done and of all.
Progress = Callable[[int, int], Any]
#: The same; or True, a bar of the package tqdm where it is installed and nothing where it is not; or a class of bars
#: like tqdm's, which is made with total=, unit= and unit_scale= and has update(), refresh() and close().
Watcher = Union[Progress, bool, Type[Any]]


@contextlib.contextmanager
def shown(progress: Optional[Watcher]) -> Iterator[Optional[Progress]]:
    """The function that `progress` stands for, and its bar, which is closed at the end."""
    if progress is None or progress is False:
        yield None
        return
    bars: Any = progress
    if progress is True:
        try:
            from tqdm.auto import tqdm as bars  # type: ignore[import-not-found,import-untyped,no-redef]
        except ImportError:
            yield None
            return
    if not isinstance(bars, type):
        if not callable(progress):
            raise InvalidArgumentError(f"progress is a function of (done, total), a class of bars, or True, and not "
                                       f"{progress!r}", "progress", repr(progress))
        yield progress
        return
    bar: Any = None

    def tell(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            bar = bars(total=total, unit="B", unit_scale=True)
        elif bar.total != total:
            bar.total = total
        bar.update(done - bar.n)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.close()


def share(progress: Optional[Progress], part: int, parts: int) -> Optional[Progress]:
    """What one of several equal parts of the work is to call, so that progress hears of all of them together."""
    if progress is None or parts == 1:
        return progress
    told = progress
    return lambda done, total: told(part * total + done, parts * total)


def behind(progress: Optional[Progress], before: int, total: int) -> Optional[Progress]:
    """What a part of the work is to call where so many bytes of `total` were done before it."""
    if progress is None:
        return None
    told = progress
    return lambda done, _: told(min(before + done, total), total)
