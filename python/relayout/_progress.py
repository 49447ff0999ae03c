"""progress=: what long calls say of the work that is done.

    relayout.transpose(x, out=y, progress=lambda done, total: bar.update(done / total))
"""
from __future__ import annotations

from typing import Any, Callable, Optional

#: A function of the bytes that are done and of all.
Progress = Callable[[int, int], Any]


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
