"""The gradients of PyTorch's tensors that a function returns, in respect of those that it was given.

A backward pass reads what the forward pass kept, with the strides of the arguments, and the gradient of each result,
whose strides are the caller's: those of a sum are 0, and those of a transposition are exchanged. So it is run with a
gradient of each result that is contiguous, and once more with the same numbers in every second element of a larger one.

Example: `backward([x * 2], [x])` has two rows of one gradient each, of which all elements are from 2 to 4.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


#: What is said of the gradients of each pass.
PASSES = ("", ", where the result's gradient is not contiguous,")


def backward(results: Sequence[Any], arrays: Sequence[Any]) -> list[list[Any]]:
    """For each pass the gradients of all arrays; None for those that need none, and on which no result depends.

    Empty where no result has a backward pass. What the pass raises passes.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    outputs = [one for one in results if isinstance(one, torch.Tensor) and one.requires_grad]
    inputs = [array for array in arrays if isinstance(array, torch.Tensor) and array.requires_grad]
    if not outputs or not inputs:
        return []
    found = []
    for make in (_numbers, _every_second):
        gradients = iter(torch.autograd.grad(outputs, inputs, [make(torch, one) for one in outputs], retain_graph=True,
                                             allow_unused=True))
        found.append([next(gradients) if any(array is one for one in inputs) else None for array in arrays])
    return found


def _numbers(torch: Any, like: Any) -> Any:
    """Numbers about 1 that differ, in the shape and type of a result, row-major."""
    flat = 1 + torch.arange(like.numel(), device=like.device) * 7919 % 101 / 128
    return flat.to(like.dtype).reshape(like.shape)


def _every_second(torch: Any, like: Any) -> Any:
    """The same numbers, with NaN between them and the dims in the other order in memory."""
    turned = tuple(range(like.dim()))[::-1]
    shape = [2 * n for n in reversed(like.shape)]
    memory = torch.full(shape, float("nan"), dtype=like.dtype, device=like.device)
    place = memory[tuple(slice(None, None, 2) for _ in shape)].permute(turned)
    place.copy_(_numbers(torch, like))
    return place
