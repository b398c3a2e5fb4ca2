"""docs/settings.md has every field of the messages that it is about."""

import re
from pathlib import Path

import pytest

from penstock import proto

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
config, rewriter = proto.config_pb2, proto.rewriter_config_pb2
MESSAGES = {
    "ConfigProto": config.ConfigProto,
    "ConfigProto.Experimental": config.ConfigProto.Experimental,
    "GPUOptions": config.GPUOptions,
    "GPUOptions.Experimental": config.GPUOptions.Experimental,
    "GraphOptions": config.GraphOptions,
    "OptimizerOptions": config.OptimizerOptions,
    "RewriterConfig": rewriter.RewriterConfig,
    "ThreadPoolOptionProto": config.ThreadPoolOptionProto,
    "RunOptions": config.RunOptions,
    "RunOptions.Experimental": config.RunOptions.Experimental,
}


@pytest.mark.parametrize("name", MESSAGES)
def test_every_field_has_a_row(name):
    section = PAGE.read_text().partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    told = [field for row in rows for field in re.findall(r"`(\w+)`", row)]
    assert sorted(told) == sorted(field.name for field in MESSAGES[name].DESCRIPTOR.fields)
