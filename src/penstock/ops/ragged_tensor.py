"""RaggedTensor with all that it takes part in.

Importing the class from here also registers what ordinary operations do with ragged tensors.
"""

from penstock.ops import ragged_array as _array  # noqa: F401
from penstock.ops import ragged_elementwise as _elementwise  # noqa: F401
from penstock.ops import ragged_gather as _gather  # noqa: F401
from penstock.ops import ragged_images as _images  # noqa: F401
from penstock.ops import ragged_join as _join  # noqa: F401
from penstock.ops import ragged_reduce as _reduce  # noqa: F401
from penstock.ops import ragged_shape as _shape  # noqa: F401
from penstock.ops import string_ragged as _strings  # noqa: F401
from penstock.ops.ragged_class import RaggedTensor
from penstock.ops.ragged_shape import DynamicRaggedShape
from penstock.types.ragged_spec import RaggedTensorSpec
from penstock.types.ragged_value import RaggedTensorValue

__all__ = ["DynamicRaggedShape", "RaggedTensor", "RaggedTensorSpec", "RaggedTensorValue"]
