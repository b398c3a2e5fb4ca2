"""Public names of errors and of the log in `compat.v1`; `tf.errors` is a package of its own."""

_CODES = (
    "ABORTED ALREADY_EXISTS CANCELLED DATA_LOSS DEADLINE_EXCEEDED FAILED_PRECONDITION INTERNAL"
    " INVALID_ARGUMENT NOT_FOUND OK OUT_OF_RANGE PERMISSION_DENIED RESOURCE_EXHAUSTED"
    " UNAUTHENTICATED UNAVAILABLE UNIMPLEMENTED UNKNOWN"
).split()
_ERRORS = (
    "AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError"
    " FailedPreconditionError InternalError InvalidArgumentError NotFoundError OutOfRangeError"
    " PermissionDeniedError ResourceExhaustedError UnauthenticatedError UnavailableError"
    " UnimplementedError UnknownError error_code_from_exception_type"
    " exception_type_from_error_code raise_exception_on_not_ok_status"
).split()
_LOG = (
    "DEBUG ERROR FATAL INFO TaskLevelStatusMessage WARN debug error fatal flush get_verbosity info"
    " log log_every_n log_first_n log_if set_verbosity vlog warn warning"
).split()

EXPORTS = {
    "penstock.errors": {
        **{name: [f"compat.v1.errors.{name}"] for name in [*_CODES, *_ERRORS]},
        "OpError": ["compat.v1.errors.OpError", "compat.v1.OpError"],
    },
    "penstock.config.logging": {
        **{name: [f"compat.v1.logging.{name}"] for name in _LOG},
        "get_logger": ["get_logger"],
    },
}
