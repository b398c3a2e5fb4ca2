"""Public names of sounds; `encode_wav` is listed with the summaries."""

EXPORTS = {"penstock.ops.audio_files": {"decode_wav": ["audio.decode_wav"]}}
