"""Tensors as other libraries export them by DLPack, read from their capsules and compared with interop/dlpack.h."""
import ctypes

from lines import Report, ask, commas, numbers


class DLTensor(ctypes.Structure):
    """DLPack's struct, with which a managed tensor begins."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


POINTER_OF = ctypes.pythonapi.PyCapsule_GetPointer
POINTER_OF.restype, POINTER_OF.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def question_of(capsule):
    """The fields of a capsule's tensor as answer_lines.cc wants them, and its data pointer."""
    tensor = DLTensor.from_address(POINTER_OF(capsule, b"dltensor"))
    shape = tensor.shape[:tensor.ndim] if tensor.ndim else []
    strides = commas(tensor.strides[:tensor.ndim]) if tensor.strides and tensor.ndim else "-"
    return ["dlpack", commas(shape), strides, commas((tensor.code, tensor.bits, tensor.lanes)),
            tensor.byte_offset], tensor.data or 0


def compare_capsules(program, part, exported, least):
    """Compares (capsule, type, bytes of an element, sizes, strides in elements, address of the first element)."""
    report = Report(part)
    questions = [question_of(case[0]) for case in exported]
    for (capsule, dtype, item, sizes, strides, address), (question, data), answer in zip(
            exported, questions, ask(program, [question for question, _ in questions])):
        if answer[0] != dtype or numbers(answer[1]) != list(sizes):
            report.differ("%s: %s, and it is %s of %s" % (question, answer, dtype, sizes))
            continue
        steps = [s for n, s in zip(sizes, strides) if n > 1]
        ours = [s for n, s in zip(sizes, numbers(answer[2])) if n > 1]
        if 0 in sizes:
            report.agree("without elements")
        elif steps != ours or data + int(answer[4]) + int(answer[3]) * item != address:
            report.differ("%s: %s, and it has strides %s and begins at %d" % (question, answer, strides, address))
        else:
            report.agree("with negative strides" if min(steps, default=0) < 0 else "with elements")
    return report.end(least)
