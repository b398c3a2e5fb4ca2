import numpy as np
from tests.ops.harness import Failure, Record, case, normal, unary_cases

from penstock import errors

LIMITS = [-1.0, 0.0, 1.5]
RECORDS = [
    Record(
        "Bucketize",
        [*unary_cases(normal(), boundaries=LIMITS), case(normal(3), boundaries=[])],
        lambda x, boundaries: np.digitize(x, boundaries).astype(np.int32),
        None,
        ("float32", "float64", "int32", "int64"),
        result_dtype="int32",
        errors=[
            Failure(
                (normal(2),),
                "boundaries that rise",
                {"boundaries": [1.0, 0.0]},
                eager=errors.InvalidArgumentError,
            )
        ],
    )
]
