"""What a trace knows may be any of an operation's inputs: it compiles as with none known.

In a trace of XLA a constant is a NumPy array, and everything else a tracer. A kernel that takes its
way by one input, or that looks up in a known one at places that are traced, would leave its region
to the host: the same numbers, a hundred times as slow.
"""

from typing import Any

import numpy as np
import pytest
from tools.golden import codec
from tools.golden.codec import Case, Json

import penstock as tf

HIDDEN = frozenset({"string", *codec.QUANTIZED})  # no executable takes them
Part = tuple[str, int | None, Json]  # argument, place in its list, tensor


def tensor_parts(case: Case) -> list[Part] | None:
    """The tensors among the arguments; None where the case is no single compilable call."""
    if "err" in case or case.get("mode") == "session" or len(case["steps"]) != 1:
        return None
    parts: list[Part] = []
    for name, value in case["steps"][0][1].items():
        if "t" in value:
            parts.append((name, None, value["t"]))
        elif value.get("l") and all("t" in v for v in value["l"]):
            parts += [(name, i, v["t"]) for i, v in enumerate(value["l"])]
        elif {"var", "ref", "list", "from"} & value.keys() or _holds_tensors(value):
            return None
    plain = all(t[0] not in HIDDEN and np.prod(t[1]) for _, _, t in parts)
    return parts if plain and len(parts) > 1 else None


def _holds_tensors(value: Json) -> bool:
    return any("t" in v for v in value.get("l", ()))


def attribute(value: Json) -> Any:
    """The Python value of an argument that is no tensor."""
    if "l" in value:
        return [attribute(v) for v in value["l"]]
    ((kind, held),) = value.items()
    return {"d": tf.as_dtype, "b": lambda text: text.encode("latin1")}.get(kind, lambda v: v)(held)


def compiles(op: str, case: Case, parts: list[Part], known: int | None) -> bool:
    """Whether a call becomes an executable whose part `known` is a constant."""
    arguments = case["steps"][0][1]
    arrays = [tf.constant(codec.decode(t), t[0]) for _, _, t in parts]

    def call(*given: Any) -> Any:
        tensors = list(given)
        if known is not None:
            tensors.insert(known, tf.constant(arrays[known].numpy()))
        values: dict[str, Any] = {}
        for (name, place, _), tensor in zip(parts, tensors, strict=True):
            if place is None:
                values[name] = tensor
            else:
                values.setdefault(name, []).append(tensor)
        rest = {k: attribute(v) for k, v in arguments.items() if k not in values}
        return getattr(tf.raw_ops, op)(**values, **rest)

    given = [a for i, a in enumerate(arrays) if i != known]
    function = tf.function(call, jit_compile=True, autograph=False)
    try:
        function.experimental_get_compiler_ir(*given)(stage="hlo")
    except (tf.errors.InvalidArgumentError, ValueError, TypeError):
        return False  # a value that must be known, or an operation of the host's
    return True


def cases() -> list[tuple[str, Case, list[Part]]]:
    """One call of each operation that has several tensors."""
    chosen = []
    for op, recorded in codec.read().items():
        if "." in op:
            continue  # a public function
        found = ((c, tensor_parts(c)) for c in recorded if hasattr(tf.raw_ops, op))
        first = next(((c, parts) for c, parts in found if parts), None)
        if first:
            chosen.append((op, *first))
    return chosen


@pytest.mark.parametrize(
    ("op", "case", "parts"), [pytest.param(*found, id=found[0]) for found in cases()]
)
def test_any_input_may_be_known(op: str, case: Case, parts: list[Part]) -> None:
    """With one input known what compiles with none still does."""
    if compiles(op, case, parts, None):
        failing = [parts[i][:2] for i in range(len(parts)) if not compiles(op, case, parts, i)]
        assert not failing, f"{op} does not compile where these are known: {failing}"
