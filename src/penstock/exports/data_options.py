"""Public names of the options of datasets."""

EXPORTS = {
    "penstock.data.options": {
        "Options": ["data.Options"],
        "ThreadingOptions": ["data.ThreadingOptions", "data.experimental.ThreadingOptions"],
        "AutotuneOptions": ["data.experimental.AutotuneOptions"],
        "AutotuneAlgorithm": ["data.experimental.AutotuneAlgorithm"],
        "AutoShardPolicy": ["data.experimental.AutoShardPolicy"],
        "DistributeOptions": ["data.experimental.DistributeOptions"],
        "ExternalStatePolicy": ["data.experimental.ExternalStatePolicy"],
        "OptimizationOptions": ["data.experimental.OptimizationOptions"],
        "ServiceOptions": ["data.experimental.ServiceOptions"],
        "SHARD_HINT": ["data.experimental.SHARD_HINT"],
    },
}
