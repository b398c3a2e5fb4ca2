"""Public names of summaries."""

EXPORTS = {
    "penstock.ops.media": {
        "encode_png": ["io.encode_png", "image.encode_png"],
        "encode_wav": ["audio.encode_wav"],
    },
    "penstock.summary.writers": {
        "SummaryWriter": ["summary.SummaryWriter"],
        "create_file_writer": ["summary.create_file_writer"],
        "create_noop_writer": ["summary.create_noop_writer"],
        "flush": ["summary.flush"],
        "graph": ["summary.graph"],
        "record_if": ["summary.record_if"],
        "should_record_summaries": ["summary.should_record_summaries"],
        "write": ["summary.write"],
        "get_step": ["summary.experimental.get_step"],
        "set_step": ["summary.experimental.set_step"],
        "summary_scope": ["summary.experimental.summary_scope"],
        "write_raw_pb": ["summary.experimental.write_raw_pb"],
        "all_v2_summary_ops": ["compat.v1.summary.all_v2_summary_ops"],
        "initialize": ["compat.v1.summary.initialize"],
    },
    "penstock.summary.tracing": {
        "trace_export": ["summary.trace_export"],
        "trace_off": ["summary.trace_off"],
        "trace_on": ["summary.trace_on"],
    },
    "penstock.summary.plots": {
        "audio": ["summary.audio"],
        "histogram": ["summary.histogram"],
        "image": ["summary.image"],
        "scalar": ["summary.scalar"],
        "text": ["summary.text"],
    },
    "penstock.summary.merged": {
        "audio": ["compat.v1.summary.audio"],
        "get_summary_description": ["compat.v1.summary.get_summary_description"],
        "histogram": ["compat.v1.summary.histogram"],
        "image": ["compat.v1.summary.image"],
        "merge": ["compat.v1.summary.merge"],
        "merge_all": ["compat.v1.summary.merge_all"],
        "scalar": ["compat.v1.summary.scalar"],
        "tensor_summary": ["compat.v1.summary.tensor_summary"],
        "text": ["compat.v1.summary.text"],
    },
    "penstock.summary.file_writer": {
        "FileWriter": ["compat.v1.summary.FileWriter"],
        "FileWriterCache": ["compat.v1.summary.FileWriterCache"],
    },
    "penstock.summary.reading": {"summary_iterator": ["compat.v1.train.summary_iterator"]},
    "penstock.proto.event_pb2": {
        "Event": ["compat.v1.Event", "compat.v1.summary.Event"],
        "LogMessage": ["compat.v1.LogMessage"],
        "SessionLog": ["compat.v1.SessionLog", "compat.v1.summary.SessionLog"],
        "TaggedRunMetadata": ["compat.v1.summary.TaggedRunMetadata"],
    },
    "penstock.proto.histogram_pb2": {"HistogramProto": ["compat.v1.HistogramProto"]},
    "penstock.proto.summary_pb2": {
        "Summary": ["compat.v1.Summary", "compat.v1.summary.Summary"],
        "SummaryDescription": ["compat.v1.summary.SummaryDescription"],
        "SummaryMetadata": ["compat.v1.SummaryMetadata"],
    },
}
