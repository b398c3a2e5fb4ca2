# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.distribute.values import InputContext as InputContext
from penstock.distribute.values import InputReplicationMode as InputReplicationMode
from penstock.distribute.values import ReduceOp as ReduceOp
from penstock.distribute.replica_context import ReplicaContextV1 as ReplicaContext
from penstock.distribute.values import RunOptions as RunOptions
from penstock.distributed.server import Server as Server
from penstock.distribute.strategy import StrategyV1 as Strategy
from penstock.distribute.extended import StrategyExtendedV1 as StrategyExtended
from penstock.distribute.contexts import experimental_set_strategy as experimental_set_strategy
from penstock.distribute.contexts import get_loss_reduction as get_loss_reduction
from penstock.distribute.contexts import get_replica_context as get_replica_context
from penstock.distribute.contexts import get_strategy as get_strategy
from penstock.distribute.contexts import has_strategy as has_strategy
from penstock.distribute.contexts import in_cross_replica_context as in_cross_replica_context
