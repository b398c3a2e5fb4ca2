"""Record facts about TensorFlow's public interface as JSON under ``tests/data``.

Run by an interpreter that has TensorFlow (never needed to use or to test Penstock):

    path/to/tensorflow/bin/python tools/tf_facts.py [FAMILY ...]

Each family is one module ``tools/tf_facts_<family>.py`` with a function ``record() -> dict`` and
one output file. Facts are names, numbers, types, defaults and error classes: what a compatible
program has to agree with. No text written by others (descriptions, docstrings) is recorded.

Files are written with sorted keys and a line an entry, so that a new TensorFlow shows as a
readable difference; a file above ``GZIP_ABOVE`` bytes is compressed without a time stamp.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
GZIP_ABOVE = 1_000_000

# family -> file name under tests/data
FAMILIES = {
    "graphs": "tf_graphs.json",
    "op_defs": "tf_op_defs.json",
    "signatures": "tf_signatures.json",
    "promotion": "tf_promotion.json",
    "quantized": "tf_quantized.json",
    "random": "tf_random.json",
    "tensor_protos": "tf_tensor_protos.json",
    "types": "tf_types.json",
}


def render(record: dict[str, Any]) -> str:
    """Return the record as JSON text with one line for each entry of each section."""
    lines = ["{"]
    sections = sorted(record.items())
    for index, (section, entries) in enumerate(sections):
        comma = "," if index + 1 < len(sections) else ""
        if not isinstance(entries, dict):
            lines.append(f"{json.dumps(section)}: {_compact(entries)}{comma}")
            continue
        lines.append(f"{json.dumps(section)}: {{")
        rows = [f" {json.dumps(key)}: {_compact(entries[key])}" for key in sorted(entries)]
        lines.append(",\n".join(rows))
        lines.append(f"}}{comma}")
    lines.append("}")
    return "\n".join(line for line in lines if line) + "\n"


def _compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def write(name: str, text: str) -> Path:
    """Write the text under ``tests/data``, compressed when it is large; return its path."""
    path = DATA / name
    packed = path.with_name(name + ".gz")
    data = text.encode()
    stale = packed
    if len(data) > GZIP_ABOVE:
        data = gzip.compress(data, compresslevel=9, mtime=0)
        path, stale = packed, path
    stale.unlink(missing_ok=True)
    path.write_bytes(data)
    return path


def main() -> None:
    """Record the families named on the command line, or all of them."""
    parser = argparse.ArgumentParser(description="Record facts about TensorFlow's interface.")
    parser.add_argument("family", nargs="*", help=f"one of {', '.join(FAMILIES)}; default all")
    chosen = parser.parse_args().family or list(FAMILIES)
    unknown = sorted(set(chosen) - set(FAMILIES))
    if unknown:
        parser.error(f"unknown family {unknown}; known: {sorted(FAMILIES)}")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    DATA.mkdir(parents=True, exist_ok=True)
    for family in chosen:
        module = importlib.import_module(f"tf_facts_{family}")
        path = write(FAMILIES[family], render(module.record()))
        print(f"{path.relative_to(DATA.parent.parent)}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
