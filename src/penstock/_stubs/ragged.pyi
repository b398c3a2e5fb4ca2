# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.ragged_functions import boolean_mask as boolean_mask
from penstock.ops.ragged_constant import constant as constant
from penstock.ops.ragged_cross import cross as cross
from penstock.ops.ragged_cross import cross_hashed as cross_hashed
from penstock.ops.ragged_elementwise import map_flat_values as map_flat_values
from penstock.ops.ragged_functions import range as range
from penstock.ops.ragged_functions import row_splits_to_segment_ids as row_splits_to_segment_ids
from penstock.ops.ragged_functions import segment_ids_to_row_splits as segment_ids_to_row_splits
from penstock.ops.ragged_functions import stack as stack
from penstock.ops.ragged_functions import stack_dynamic_partitions as stack_dynamic_partitions
