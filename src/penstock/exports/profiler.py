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
    "penstock.profiler.options_v1": {
        "ProfileOptionBuilder": ["compat.v1.profiler.ProfileOptionBuilder"],
    },
}
