# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.array_space import batch_to_space_nd_v1 as batch_to_space_nd
from penstock.ops.array_gather import gather_nd_v1 as gather_nd
from penstock.ops.array_basics import reshape as reshape
from penstock.ops.array_order import reverse as reverse
from penstock.ops.array_order import roll as roll
from penstock.ops.array_scatter import scatter_nd as scatter_nd
from penstock.ops.array_space import space_to_batch_nd as space_to_batch_nd
from penstock.ops.array_tile import tile as tile
