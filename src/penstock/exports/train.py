"""Public names of optimizers and of the global step."""

_OPTIMIZERS = (
    "GradientDescentOptimizer MomentumOptimizer AdagradOptimizer AdadeltaOptimizer "
    "RMSPropOptimizer FtrlOptimizer AdamOptimizer"
).split()
_STEPS = (
    "get_global_step create_global_step get_or_create_global_step assert_global_step global_step"
).split()

_HOOK_BASES = "SessionRunHook SessionRunArgs SessionRunValues SessionRunContext".split()
_HOOKS = (
    "StopAtStepHook LoggingTensorHook NanTensorHook NanLossDuringTrainingError FinalOpsHook"
    " FeedFnHook GlobalStepWaiterHook SecondOrStepTimer"
).split()
_SAVING_HOOKS = (
    "CheckpointSaverHook CheckpointSaverListener StepCounterHook SummarySaverHook ProfilerHook"
).split()
_SCAFFOLD = "Scaffold SessionCreator ChiefSessionCreator WorkerSessionCreator".split()
_MONITORED = "MonitoredSession SingularMonitoredSession MonitoredTrainingSession".split()

_LOSSES = (
    "absolute_difference cosine_distance hinge_loss huber_loss log_loss"
    " mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy"
    " softmax_cross_entropy sparse_softmax_cross_entropy"
).split()

_LOSS_COLLECTIONS = (
    "add_loss get_losses get_regularization_loss get_regularization_losses get_total_loss".split()
)

_MEANS = (
    "accuracy false_negatives false_positives mean mean_absolute_error mean_cosine_distance"
    " mean_iou mean_per_class_accuracy mean_relative_error mean_squared_error mean_tensor"
    " percentage_below precision recall root_mean_squared_error true_negatives true_positives"
).split()
_THRESHOLDS = (
    "auc false_negatives_at_thresholds false_positives_at_thresholds precision_at_thresholds"
    " recall_at_thresholds sensitivity_at_specificity specificity_at_sensitivity"
    " true_negatives_at_thresholds true_positives_at_thresholds"
).split()
_AT_K = (
    "average_precision_at_k precision_at_k precision_at_top_k recall_at_k recall_at_top_k"
    " sparse_average_precision_at_k sparse_precision_at_k"
).split()

_DECAYS = (
    "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay"
    " natural_exp_decay noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay"
    " polynomial_decay"
).split()

_SCALING = ("compat.v1.mixed_precision", "compat.v1.train.experimental")
_MIXED = (*_SCALING, "compat.v1.mixed_precision.experimental")

EXPORTS = {
    "penstock.train.coordinator": {
        "Coordinator": ["train.Coordinator"],
        "LooperThread": ["compat.v1.train.LooperThread"],
    },
    "penstock.train.moving_averages": {
        "ExponentialMovingAverage": [
            "train.ExponentialMovingAverage",
            "compat.v1.train.ExponentialMovingAverage",
        ]
    },
    "penstock.train.device_setter": {
        "replica_device_setter": ["compat.v1.train.replica_device_setter"]
    },
    "penstock.train.sync_replicas_optimizer": {
        "SyncReplicasOptimizer": ["compat.v1.train.SyncReplicasOptimizer"]
    },
    "penstock.train.decays": {name: [f"compat.v1.train.{name}"] for name in _DECAYS},
    "penstock.train.metrics_means": {name: [f"compat.v1.metrics.{name}"] for name in _MEANS},
    "penstock.train.metrics_thresholds": {
        name: [f"compat.v1.metrics.{name}"] for name in _THRESHOLDS
    },
    "penstock.train.metrics_at_k": {name: [f"compat.v1.metrics.{name}"] for name in _AT_K},
    "penstock.ops.math_confusion": {
        "confusion_matrix": ["math.confusion_matrix"],
        "confusion_matrix_v1": ["compat.v1.math.confusion_matrix", "compat.v1.confusion_matrix"],
    },
    "penstock.train.session_run_hook": {n: [f"compat.v1.train.{n}"] for n in _HOOK_BASES},
    "penstock.train.basic_session_run_hooks": {n: [f"compat.v1.train.{n}"] for n in _HOOKS},
    "penstock.train.saving_hooks": {n: [f"compat.v1.train.{n}"] for n in _SAVING_HOOKS},
    "penstock.train.session_manager": {"SessionManager": ["compat.v1.train.SessionManager"]},
    "penstock.train.scaffold": {n: [f"compat.v1.train.{n}"] for n in _SCAFFOLD},
    "penstock.train.monitored_session": {n: [f"compat.v1.train.{n}"] for n in _MONITORED},
    "penstock.train.supervisor": {
        n: [f"compat.v1.train.{n}"] for n in ("Supervisor", "basic_train_loop")
    },
    "penstock.train.loss_scales": {
        n: [f"{module}.{n}" for module in _MIXED]
        for n in ("LossScale", "FixedLossScale", "DynamicLossScale")
    },
    "penstock.train.loss_scale_optimizer": {
        n: [f"{module}.{n}" for module in _SCALING] for n in ("MixedPrecisionLossScaleOptimizer",)
    },
    "penstock.train.mixed_precision": {
        n: [f"{module}.{n}" for module in _SCALING]
        for n in ("enable_mixed_precision_graph_rewrite", "disable_mixed_precision_graph_rewrite")
    },
    "penstock.train.losses": {name: [f"compat.v1.losses.{name}"] for name in _LOSSES},
    "penstock.train.loss_collections": {
        name: [f"compat.v1.losses.{name}"] for name in _LOSS_COLLECTIONS
    },
    "penstock.train.loss_reduction": {
        name: [f"compat.v1.losses.{name}"] for name in ("Reduction", "compute_weighted_loss")
    },
    "penstock.train.optimizer": {"Optimizer": ["compat.v1.train.Optimizer"]},
    "penstock.train.optimizers": {name: [f"compat.v1.train.{name}"] for name in _OPTIMIZERS},
    "penstock.train.global_step": {name: [f"compat.v1.train.{name}"] for name in _STEPS},
}
