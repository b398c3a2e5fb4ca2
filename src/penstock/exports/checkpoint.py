"""Public names of checkpoints."""

_STATE = "get_checkpoint_state latest_checkpoint checkpoints_iterator".split()
_STATE_V1 = (
    "generate_checkpoint_state_proto update_checkpoint_state checkpoint_exists "
    "get_checkpoint_mtimes remove_checkpoint"
).split()

EXPORTS = {
    "penstock.checkpoint.objects": {
        "Checkpoint": ["train.Checkpoint"],
        "CheckpointV1": ["compat.v1.train.Checkpoint"],
    },
    "penstock.checkpoint.initialize": {
        "VocabInfo": ["compat.v1.train.VocabInfo"],
        "init_from_checkpoint": ["compat.v1.train.init_from_checkpoint"],
        "warm_start": ["compat.v1.train.warm_start"],
    },
    "penstock.checkpoint.manager": {"CheckpointManager": ["train.CheckpointManager"]},
    "penstock.checkpoint.options": {"CheckpointOptions": ["train.CheckpointOptions"]},
    "penstock.checkpoint.python_state": {"PythonState": ["train.experimental.PythonState"]},
    "penstock.checkpoint.readers": {
        "list_variables": ["train.list_variables"],
        "load_checkpoint": ["train.load_checkpoint"],
        "load_variable": ["train.load_variable"],
        "new_checkpoint_reader": ["compat.v1.train.NewCheckpointReader"],
    },
    "penstock.checkpoint.meta_graph": {
        "export_meta_graph": ["compat.v1.train.export_meta_graph"],
    },
    "penstock.checkpoint.restore_graph": {
        "import_meta_graph": ["compat.v1.train.import_meta_graph"],
    },
    "penstock.checkpoint.safetensors_files": {
        "load_safetensors": ["train.experimental.load_safetensors"],
        "save_safetensors": ["train.experimental.save_safetensors"],
    },
    "penstock.checkpoint.sharding": {
        name: [f"train.experimental.{name}"]
        for name in "MaxShardSizePolicy ShardByTaskPolicy ShardableTensor ShardingCallback".split()
    },
    "penstock.checkpoint.saver": {"Saver": ["compat.v1.train.Saver"]},
    "penstock.checkpoint.state_files": {
        **{name: [f"train.{name}"] for name in _STATE},
        **{name: [f"compat.v1.train.{name}"] for name in _STATE_V1},
    },
    "penstock.checkpoint.views": {
        "CheckpointView": ["train.CheckpointView"],
        "TrackableView": ["train.TrackableView"],
    },
}
