# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.distribute import *
from penstock.distribute.inputs import DistributedDataset as DistributedDataset
from penstock.distribute.inputs import DistributedIterator as DistributedIterator
from penstock.distribute.values import DistributedValues as DistributedValues
from penstock.distribute.values import InputContext as InputContext
from penstock.distribute.values import InputOptions as InputOptions
from penstock.distribute.values import InputReplicationMode as InputReplicationMode
from penstock.distribute.values import ReduceOp as ReduceOp
from penstock.distribute.replica_context import ReplicaContext as ReplicaContext
from penstock.distribute.values import RunOptions as RunOptions
from penstock.distributed.server import Server as Server
from penstock.distribute.strategy import Strategy as Strategy
from penstock.distribute.extended import StrategyExtendedV2 as StrategyExtended
from penstock.distribute.contexts import experimental_set_strategy as experimental_set_strategy
from penstock.distribute.contexts import get_replica_context as get_replica_context
from penstock.distribute.contexts import get_strategy as get_strategy
from penstock.distribute.contexts import has_strategy as has_strategy
from penstock.distribute.contexts import in_cross_replica_context as in_cross_replica_context
from penstock._stubs import distribute_experimental as experimental
