"""OpenCL's devices, and runtimes on them: what relayout.opencl has beside tensors."""
from __future__ import annotations

import atexit
import threading
from typing import Any, List, Optional, Tuple, Union

from ._errors import InvalidArgumentError
from ._native import opencl as _opencl

Device = _opencl.Device


def devices() -> List[Device]:
    """All devices of this machine, GPUs first; none without OpenCL. The first call may take a second."""
    return _opencl.devices()


def problem() -> str:
    """Why there is no device, or what kept some from being listed; "" where all is well."""
    return _opencl.problem()


def handle_of(x: Any, what: str) -> int:
    """An OpenCL handle: an integer, or an object of pyopencl."""
    number = getattr(x, "int_ptr", x)
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"{what} must be an object of pyopencl or a handle as an integer, not {type(x)}")
    if not 0 < number < 2**64:
        raise InvalidArgumentError(f"{what} is {number}, which is no handle", what, str(number))
    return number


class Runtime:
    """A device with a context and an in-order queue. Calls of several threads on one runtime take turns.

    device: a Device or its number; without it the one of the environment's RELAYOUT_OPENCL_DEVICE, or the first.
    Errors: UnsupportedError (no device, with the reason), InvalidArgumentError (no such number).
    """

    def __init__(self, device: Union[Device, int, None] = None):
        number = device.number if isinstance(device, Device) else device
        self._native = _opencl.Runtime.make(number)

    @classmethod
    def wrap(cls, context: Any, queue: Any) -> "Runtime":
        """On a program's own context and queue: objects of pyopencl, or handles as integers, which must be valid.

        Both are retained. Errors: UnsupportedError (an out-of-order queue, or no OpenCL), FileError (OpenCL refuses
        them).
        """
        made = cls.__new__(cls)
        made._native = _opencl.Runtime.wrap(handle_of(context, "context"), handle_of(queue, "queue"))
        return made

    @property
    def device(self) -> Device:
        return self._native.device

    @property
    def context_int_ptr(self) -> int:
        """The cl_context."""
        return self._native.context

    @property
    def queue_int_ptr(self) -> int:
        """The cl_command_queue."""
        return self._native.queue

    def to_pyopencl(self) -> Tuple[Any, Any]:
        """The same as pyopencl's Context and CommandQueue, which hold them as well."""
        import pyopencl
        return (pyopencl.Context.from_int_ptr(self.context_int_ptr, retain=True),
                pyopencl.CommandQueue.from_int_ptr(self.queue_int_ptr, retain=True))

    def finish(self) -> None:
        """Waits until the device has done all that is in the queue."""
        self._native.finish()

    def __repr__(self) -> str:
        return f"<relayout.opencl.Runtime on {self.device.name}>"


_default: Optional[Runtime] = None
_default_lock = threading.Lock()


def runtime_of(runtime: Optional[Runtime]) -> Runtime:
    """What is given, or the one that all calls without one share."""
    global _default
    if runtime is not None:
        if not isinstance(runtime, Runtime):
            raise TypeError(f"runtime must be a relayout.opencl.Runtime, not {type(runtime)}")
        return runtime
    with _default_lock:
        if _default is None:
            _default = Runtime()
        return _default


@atexit.register
def _forget_default() -> None:
    """At exit modules go in an order in which objects of C++ could outlive their classes."""
    global _default
    _default = None
