"""Public names of strategies."""

_BOTH = "InputContext InputReplicationMode ReduceOp RunOptions".split()
_CONTEXTS = (
    "get_strategy has_strategy in_cross_replica_context get_replica_context"
    " experimental_set_strategy"
).split()

V2_ONLY = (  # which compat.v1 lacks
    "distribute.DistributedDataset",
    "distribute.DistributedIterator",
    "distribute.DistributedValues",
    "distribute.InputOptions",
    "distribute.experimental.ValueContext",
)

EXPORTS = {
    "penstock.distribute.values": {
        **{name: [f"distribute.{name}"] for name in _BOTH},
        "DistributedValues": ["distribute.DistributedValues"],
        "InputOptions": ["distribute.InputOptions"],
        "ValueContext": ["distribute.experimental.ValueContext"],
    },
    "penstock.distribute.inputs": {
        "DistributedDataset": ["distribute.DistributedDataset"],
        "DistributedIterator": ["distribute.DistributedIterator"],
    },
    "penstock.distribute.strategy": {
        "Strategy": ["distribute.Strategy"],
        "StrategyV1": ["compat.v1.distribute.Strategy"],
    },
    "penstock.distribute.extended": {
        "StrategyExtendedV2": ["distribute.StrategyExtended"],
        "StrategyExtendedV1": ["compat.v1.distribute.StrategyExtended"],
    },
    "penstock.distribute.replica_context": {
        "ReplicaContext": ["distribute.ReplicaContext"],
        "ReplicaContextV1": ["compat.v1.distribute.ReplicaContext"],
    },
    "penstock.distribute.contexts": {
        **{name: [f"distribute.{name}"] for name in _CONTEXTS},
        "get_loss_reduction": ["compat.v1.distribute.get_loss_reduction"],
        "maybe_merge_call": ["__internal__.distribute.interim.maybe_merge_call"],
        "strategy_supports_no_merge_call": [
            "__internal__.distribute.strategy_supports_no_merge_call"
        ],
    },
}
