"""Public names of profiles."""

EXPORTS = {
    "penstock.profiler.sessions": {
        "Profile": ["profiler.experimental.Profile"],
        "ProfilerOptions": ["profiler.experimental.ProfilerOptions"],
        "Trace": ["profiler.experimental.Trace"],
        "client_monitor": ["profiler.experimental.client.monitor"],
        "client_trace": ["profiler.experimental.client.trace"],
        "server_start": ["profiler.experimental.server.start"],
        "start": ["profiler.experimental.start"],
        "stop": ["profiler.experimental.stop"],
    },
    "penstock.profiler.model_profile": {
        name: [f"compat.v1.profiler.{name}"]
        for name in ("Profiler", "advise", "profile", "write_op_log")
    },
    "penstock.profiler.options_v1": {
        "ProfileOptionBuilder": ["compat.v1.profiler.ProfileOptionBuilder"],
    },
    "penstock.proto.tfprof_log_pb2": {"OpLogProto": ["compat.v1.profiler.OpLogProto"]},
    "penstock.proto.tfprof_output_pb2": {
        name: [f"compat.v1.profiler.{name}"]
        for name in ("AdviceProto", "GraphNodeProto", "MultiGraphNodeProto")
    },
}
