"""What graphs of TensorFlow answer: names, scopes, devices, control inputs, collections.

The questions are the scenarios of ``tests/graph/scenarios.py``, which the tests ask Penstock too.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def record() -> dict[str, Any]:
    """Run every scenario in a graph of its own."""
    import tensorflow as tf
    from tests.graph.scenarios import SCENARIOS

    answers = {}
    for name, scenario in SCENARIOS.items():
        with tf.Graph().as_default():
            answers[name] = scenario(tf)
    return {"scenarios": answers}
