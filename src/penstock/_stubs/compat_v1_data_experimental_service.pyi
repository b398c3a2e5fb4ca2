# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.data.service import CrossTrainerCache as CrossTrainerCache
from penstock.data.service import DispatchServer as DispatchServer
from penstock.data.service import DispatcherConfig as DispatcherConfig
from penstock.data.service import ShardingPolicy as ShardingPolicy
from penstock.data.service import WorkerConfig as WorkerConfig
from penstock.data.service import WorkerServer as WorkerServer
from penstock.data.service import distribute as distribute
from penstock.data.service import from_dataset_id as from_dataset_id
from penstock.data.service import register_dataset as register_dataset
