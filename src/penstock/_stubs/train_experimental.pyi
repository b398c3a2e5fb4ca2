# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.checkpoint.sharding import MaxShardSizePolicy as MaxShardSizePolicy
from penstock.checkpoint.python_state import PythonState as PythonState
from penstock.checkpoint.sharding import ShardByTaskPolicy as ShardByTaskPolicy
from penstock.checkpoint.sharding import ShardableTensor as ShardableTensor
from penstock.checkpoint.sharding import ShardingCallback as ShardingCallback
from penstock.checkpoint.safetensors_files import load_safetensors as load_safetensors
from penstock.checkpoint.safetensors_files import save_safetensors as save_safetensors
