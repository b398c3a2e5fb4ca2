"""Exception classes that carry a status code: one class for each code.

``OpError`` is the base class; every subclass fixes its code and is made with
``(node_def, op, message, payloads)``. A payload is a map that travels with the error (a remote
task adds to it). Errors can be pickled and copied; the operation they name is left out of a
pickle, because an operation belongs to a graph of one process.

This module does not compose messages; see :func:`penstock.errors.located`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from penstock.errors import codes


class OpError(Exception):
    """An operation could not be run.

    Args:
      node_def: the NodeDef of the operation that failed, or None.
      op: the Operation that failed, or None when it is unknown or was run eagerly.
      message: what went wrong.
      error_code: a code of `tf.errors`, such as `tf.errors.INVALID_ARGUMENT`.
      *args: payloads, a mapping of `bytes` to `bytes`; anything is kept, what follows is ignored.

    Example:
      >>> OpError(None, None, "no such file", codes.NOT_FOUND).error_code
      5
    """

    # Any: NodeDef and Operation live in rows below (graph) and are only carried here.
    def __init__(self, node_def: Any, op: Any, message: str, error_code: int, *args: Any) -> None:
        super().__init__()
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code
        # Whatever it is: libraries raise errors again with their code in this place.
        self._experimental_payloads: Any = args[0] if args else {}

    @property
    def message(self) -> str:
        """The text of the error, without the class name."""
        return self._message

    @property
    def op(self) -> Any:
        """The Operation that failed, or None when it is unknown or was run eagerly."""
        return self._op

    @property
    def node_def(self) -> Any:
        """The NodeDef of the operation that failed, or None."""
        if self._node_def is None and self._op is not None:
            self._node_def = self._op.node_def
        return self._node_def

    @property
    def error_code(self) -> int:
        """The number of the status code."""
        return self._error_code

    @property
    def experimental_payloads(self) -> Any:
        """A map of details that were attached to the error, or what else was given as one."""
        return self._experimental_payloads

    def __str__(self) -> str:
        return str(self._message)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            self._node_def,
            None,
            self._message,
            self._error_code,
            self._experimental_payloads,
        )


class _CodedError(OpError):
    """An OpError whose class fixes the code."""

    CODE: ClassVar[int]

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, self.CODE, *args)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._node_def, None, self._message, self._experimental_payloads)


class CancelledError(_CodedError):
    """The step, queue operation or call was cancelled before it was done."""

    CODE = codes.CANCELLED


class UnknownError(_CodedError):
    """Something failed without saying how; often an error of another library."""

    CODE = codes.UNKNOWN


class InvalidArgumentError(_CodedError):
    """An operation got an argument that is wrong in itself, whatever the state of the system."""

    CODE = codes.INVALID_ARGUMENT


class DeadlineExceededError(_CodedError):
    """The time allowed for a step or a call ran out."""

    CODE = codes.DEADLINE_EXCEEDED


class NotFoundError(_CodedError):
    """A file, a directory, a variable or another named thing does not exist."""

    CODE = codes.NOT_FOUND


class AlreadyExistsError(_CodedError):
    """Something that was to be made exists already."""

    CODE = codes.ALREADY_EXISTS


class PermissionDeniedError(_CodedError):
    """The caller may not do this, for instance read the file."""

    CODE = codes.PERMISSION_DENIED


class UnauthenticatedError(_CodedError):
    """The request carried no valid credentials."""

    CODE = codes.UNAUTHENTICATED


class ResourceExhaustedError(_CodedError):
    """Memory, disk space or a quota ran out."""

    CODE = codes.RESOURCE_EXHAUSTED


class FailedPreconditionError(_CodedError):
    """The system is not in the state that the operation needs: a variable was not initialised."""

    CODE = codes.FAILED_PRECONDITION


class AbortedError(_CodedError):
    """The operation was given up, usually because of a concurrent action; trying again may help."""

    CODE = codes.ABORTED


class OutOfRangeError(_CodedError):
    """Input ran past its end: a queue is closed and empty, a dataset has no further element."""

    CODE = codes.OUT_OF_RANGE


class UnimplementedError(_CodedError):
    """The operation exists, but not for these arguments or on this device."""

    CODE = codes.UNIMPLEMENTED


class InternalError(_CodedError):
    """An invariant of the system was broken: a defect of ours, please report it."""

    CODE = codes.INTERNAL


class UnavailableError(_CodedError):
    """A task or service cannot be reached now; trying again may help."""

    CODE = codes.UNAVAILABLE


class DataLossError(_CodedError):
    """Data was lost or is corrupt: a checksum is wrong, a file is truncated."""

    CODE = codes.DATA_LOSS


_CLASSES: tuple[type[_CodedError], ...] = (
    CancelledError,
    UnknownError,
    InvalidArgumentError,
    DeadlineExceededError,
    NotFoundError,
    AlreadyExistsError,
    PermissionDeniedError,
    ResourceExhaustedError,
    FailedPreconditionError,
    AbortedError,
    OutOfRangeError,
    UnimplementedError,
    InternalError,
    UnavailableError,
    DataLossError,
    UnauthenticatedError,
)
_BY_CODE: dict[int, type[OpError]] = {c.CODE: c for c in _CLASSES}
_BY_CLASS: dict[type[BaseException], int] = {c: c.CODE for c in _CLASSES}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Returns the exception class of a status code.

    Args:
      error_code: a code from 1 to 16.

    Raises:
      KeyError: the code is 0 (success) or is no code.

    Example:
      >>> exception_type_from_error_code(5).__name__
      'NotFoundError'
    """
    try:
        return _BY_CODE[error_code]
    except KeyError:
        raise KeyError(
            f"exception_type_from_error_code: expected a status code from 1 to 16, got "
            f"{error_code!r}. Code 0 is success and has no exception class."
        ) from None


def error_code_from_exception_type(cls: type[BaseException]) -> int:
    """Returns the status code of an exception class.

    Args:
      cls: one of the subclasses of `tf.errors.OpError` that `tf.errors` lists.

    Raises:
      KeyError: the class has no status code.
    """
    try:
        return _BY_CLASS[cls]
    except KeyError:
        raise KeyError(
            f"error_code_from_exception_type: expected a class of tf.errors with a status code, "
            f"got {cls!r}. Use UnknownError for errors of other libraries."
        ) from None


class Status:
    """The outcome of a call: a code and a message, success until it is set."""

    __slots__ = ("code", "message")

    def __init__(self) -> None:
        self.code: int = codes.OK
        self.message: str = ""

    def set(self, code: int, message: str) -> None:
        """Sets the outcome."""
        self.code, self.message = code, message


class raise_exception_on_not_ok_status:  # TensorFlow's name
    """A context that gives a `Status` and raises its error at the end when it was set.

    Example:
      >>> with raise_exception_on_not_ok_status() as status:
      ...     status.set(codes.NOT_FOUND, "no such table")
      Traceback (most recent call last):
      penstock.errors.op_errors.NotFoundError: no such table
    """

    def __enter__(self) -> Status:
        self._status = Status()
        return self._status

    def __exit__(self, error_class: object, error: object, traceback: object) -> None:
        """Raises the error of the status, unless another one is on its way."""
        if error is None and self._status.code != codes.OK:
            cls = exception_type_from_error_code(self._status.code)
            raise cls(None, None, self._status.message)  # type: ignore[call-arg]
