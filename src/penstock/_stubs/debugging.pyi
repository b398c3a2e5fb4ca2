# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.debug_asserts import assert_that as Assert
from penstock.ops.debug_asserts import assert_all_finite as assert_all_finite
from penstock.ops.debug_asserts import assert_equal as assert_equal
from penstock.ops.debug_asserts import assert_greater as assert_greater
from penstock.ops.debug_asserts import assert_greater_equal as assert_greater_equal
from penstock.ops.debug_shapes import assert_integer as assert_integer
from penstock.ops.debug_asserts import assert_less as assert_less
from penstock.ops.debug_asserts import assert_less_equal as assert_less_equal
from penstock.ops.debug_asserts import assert_near as assert_near
from penstock.ops.debug_asserts import assert_negative as assert_negative
from penstock.ops.debug_asserts import assert_non_negative as assert_non_negative
from penstock.ops.debug_asserts import assert_non_positive as assert_non_positive
from penstock.ops.debug_asserts import assert_none_equal as assert_none_equal
from penstock.ops.debug_asserts import assert_positive as assert_positive
from penstock.ops.debug_shapes import assert_proper_iterable as assert_proper_iterable
from penstock.ops.debug_shapes import assert_rank as assert_rank
from penstock.ops.debug_shapes import assert_rank_at_least as assert_rank_at_least
from penstock.ops.debug_shapes import assert_rank_in as assert_rank_in
from penstock.ops.debug_shapes import assert_same_float_dtype as assert_same_float_dtype
from penstock.ops.debug_shapes import assert_scalar as assert_scalar
from penstock.ops.debug_shapes import assert_shapes as assert_shapes
from penstock.ops.debug_shapes import assert_type as assert_type
from penstock.ops.array_identity import check_numerics as check_numerics
from penstock.ops.debug_shapes import is_numeric_tensor as is_numeric_tensor
