"""The exceptions of relayout: one tree, whose members carry what the message says apart as well.

    try:
        relayout.layout("nChw8q", (2, 17, 5, 4))
    except relayout.ParseError as error:
        error.code, error.field, error.value, error.limit, str(error)

Each class is also the built-in exception that a caller of Python would expect (ValueError, OSError, ...).
"""
from __future__ import annotations

import errno


class Error(Exception):
    """What relayout raises.

    code: the kind of error by name, "buffer_too_small". field: what was wrong, "dims[1]". value: what it was. limit:
    what was allowed. Each but the code may be empty.
    """

    code = "internal"

    def __init__(self, message: str, field: str = "", value: str = "", limit: str = ""):
        super().__init__(message)
        self.field = field
        self.value = value
        self.limit = limit

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self):
        return type(self), (self.args[0], self.field, self.value, self.limit)


class InvalidArgumentError(Error, ValueError):
    """What was asked for has no meaning."""

    code = "invalid_argument"


class MissingTensorError(InvalidArgumentError, KeyError):
    """A file has no tensor of that name. The message suggests names that are near."""


class ParseError(Error, ValueError):
    """A text is malformed."""

    code = "parse"


class SizeOverflowError(Error, OverflowError):
    """A size does not fit 64 bits."""

    code = "overflow"


class NeedsCopyError(Error, ValueError):
    """A view does not exist, and only a copy can do it."""

    code = "needs_copy"


class NotInjectiveError(Error, ValueError):
    """Two elements of a destination share memory."""

    code = "not_injective"


class BufferTooSmallError(Error, ValueError):
    """Memory is too small: value and limit are the sizes given and needed, in bytes."""

    code = "buffer_too_small"


class OverlapError(Error, ValueError):
    """Source and destination share memory."""

    code = "overlap"


class CorruptError(Error, ValueError):
    """A file contradicts itself or its format."""

    code = "corrupt"


class FileError(Error, OSError):
    """The operating system refused. errno says why, where it is known; it is also the built-in exception of that
    reason, such as FileNotFoundError."""

    code = "io"

    def __reduce__(self):
        return (*super().__reduce__(), {"errno": self.errno})


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file, or no such folder."""


class _FileExistsError(FileError, FileExistsError):
    """There is a file already, which is not to be overwritten."""


class _PermissionError(FileError, PermissionError):
    """The file's owner does not allow it."""


class _IsADirectoryError(FileError, IsADirectoryError):
    """It is a folder and no file."""


class _NotADirectoryError(FileError, NotADirectoryError):
    """What should be a folder is a file."""


class LimitError(Error, ValueError):
    """Over a limit, which is named."""

    code = "limit"


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but this build or system cannot do it."""

    code = "unsupported"


class InternalError(Error, RuntimeError):
    """A broken invariant: a bug of relayout."""


class StoppedError(Error, RuntimeError):
    """The caller asked to stop before there was a result."""

    code = "interrupted"


_CLASSES = {
    cls.code: cls
    for cls in (InvalidArgumentError, ParseError, SizeOverflowError, NeedsCopyError, NotInjectiveError,
                BufferTooSmallError, OverlapError, CorruptError, FileError, LimitError, UnsupportedError,
                InternalError, StoppedError)
}


_OF_THE_SYSTEM = {errno.ENOENT: MissingFileError, errno.EEXIST: _FileExistsError, errno.EACCES: _PermissionError,
                  errno.EPERM: _PermissionError, errno.EISDIR: _IsADirectoryError, errno.ENOTDIR: _NotADirectoryError}


def of_code(code: str, message: str, field: str = "", value: str = "", limit: str = "", number: int = 0) -> Error:
    """The exception of a code, and of a number that errno had; for the extension modules."""
    kind = _OF_THE_SYSTEM.get(number, FileError) if number else _CLASSES.get(code, InternalError)
    made = kind(message, field, value, limit)
    if number:
        made.errno = number
    return made
