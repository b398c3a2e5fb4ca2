"""Canonical status codes, numbered as in TensorFlow (and gRPC).

A code is a plain ``int``. Code 0 means success and has no exception class; every other code from
1 to 16 has exactly one, in :mod:`penstock.errors.op_errors`.
"""

OK: int = 0
CANCELLED: int = 1
UNKNOWN: int = 2
INVALID_ARGUMENT: int = 3
DEADLINE_EXCEEDED: int = 4
NOT_FOUND: int = 5
ALREADY_EXISTS: int = 6
PERMISSION_DENIED: int = 7
RESOURCE_EXHAUSTED: int = 8
FAILED_PRECONDITION: int = 9
ABORTED: int = 10
OUT_OF_RANGE: int = 11
UNIMPLEMENTED: int = 12
INTERNAL: int = 13
UNAVAILABLE: int = 14
DATA_LOSS: int = 15
UNAUTHENTICATED: int = 16
