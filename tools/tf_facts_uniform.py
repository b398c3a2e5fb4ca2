"""Texts for `tf_facts_quantized`: the uniformly quantised operations."""

from __future__ import annotations

from typing import Any

_LIMITS = {"qint8": (-128, 127), "quint8": (0, 255), "qint32": (-(2**31), 2**31 - 1)}


def _bounds(prefix: str, dtype: str, axis: int | None = None) -> str:
    low, high = _LIMITS[dtype]
    text = f"{prefix}quantization_min_val={low}, {prefix}quantization_max_val={high}"
    return text if axis is None else f"{text}, {prefix}quantization_axis={axis}"


def _scales(prefix: str, scales: Any, zeros: Any) -> str:
    return f"{prefix}_scales={scales}, {prefix}_zero_points={zeros}"


# ---- uniform quantisation

_FIRST = "lhs=q('qint8', (2, 3), 1), rhs=q('qint8', (3, 4), 2)"
_SIDES = ", ".join(
    (_bounds("lhs_", "qint8"), _bounds("rhs_", "qint8"), _bounds("output_", "qint32"))
)
_WIDE = ", ".join(_bounds(side, "qint32") for side in ("lhs_", "rhs_", "output_"))
_CHANNELS = _scales("rhs", "[.2, .1, .3, .4]", "[1, 2, 3, 4]")
_OUT = _scales("output", ".015", "7")
_CONV = f"r.UniformQuantizedConvolution(lhs=q('qint8', (2, 2, 5, 5), 1), {_scales('lhs', 0.1, 3)}, "
_HYBRID = "r.UniformQuantizedConvolutionHybrid(lhs=f((2, 2, 5, 5), 1), "
_FILTER = f"rhs=q('qint8', (4, 2, 2, 3), 2), {_scales('rhs', 0.2, -2)}, "
_TEXTS = [
    *(
        f"r.UniformQuantize(input=f((2, 3, 2), 1), scales={s}, zero_points={z}, Tout=tf.{t}, "
        f"{_bounds('', t, axis)})"
        for t in ("qint8", "quint8", "qint32")
        for s, z, axis in ((".1", "3", -1), ("[.1, .2, .3]", "[3, 0, -2]", 1))
    ),
    "r.UniformQuantize(input=[-2.5, -1.5, -.5, .5, 1.5, float('nan'), 9e3], scales=1., "
    f"zero_points=0, Tout=tf.qint8, {_bounds('', 'qint8')})",
    *(
        f"r.UniformDequantize(input=q('{t}', (2, 3, 2), 1), scales=[.1, .2, .3], zero_points=[3, 0,"
        f" -2], Tout=tf.float32, {_bounds('', t, 1)})"
        for t in ("qint8", "quint8", "qint32")
    ),
    *(
        f"r.UniformRequantize(input=q('{t}', (3, 4), 1, -120, 120), {_scales('input', s, z)}, "
        f"{_scales('output', to, zero)}, Tout=tf.qint8, {_bounds('input_', t, a)}, "
        f"{_bounds('output_', 'qint8', b)})"
        for t in ("qint8", "qint32")
        for s, z, a, to, zero, b in (
            (".1", "3", -1, ".07", "5", -1),
            ("[.1, .2, .3]", "[3, 1, 2]", 0, "[.07, .1, .2]", "[5, 0, -3]", 0),
            ("[.1, .2, .3]", "[3, 1, 2]", 0, ".07", "5", -1),
            ("[.1, .2, .3]", "[3, 1, 2]", 0, "[.1] * 4", "[1] * 4", 1),
        )
    ),
    f"r.UniformQuantizedDot({_FIRST}, {_scales('lhs', 0.1, 3)}, {_scales('rhs', 0.2, -2)}, {_OUT}, "
    f"Tout=tf.qint32, {_SIDES})",
    f"r.UniformQuantizedDot({_FIRST}, {_scales('lhs', 0.1, 3)}, {_CHANNELS}, {_OUT}, "
    f"Tout=tf.qint32, {_SIDES}, rhs_quantization_axis=1)",
    f"r.UniformQuantizedDot({_FIRST}, {_scales('lhs', 0.0, 3)}, {_scales('rhs', 0.2, -2)}, {_OUT}, "
    f"Tout=tf.qint32, {_SIDES})",
    f"r.UniformQuantizedDotHybrid(lhs=f((2, 3), 1), rhs=q('qint8', (3, 4), 2), {_CHANNELS}, "
    f"Tout=tf.float32, {_bounds('rhs_', 'qint8', 1)})",
    *(
        f"r.UniformQuantizedAdd(lhs=q('qint32', {a}, 1, -500, 500), rhs=q('qint32', {b}, 2, -500, "
        f"500), {_scales('lhs', 0.1, 1)}, {_scales('rhs', 0.2, -3)}, {_scales('output', 0.15, 7)}, "
        f"{_WIDE})"
        for a, b in (("(3, 4)", "(4,)"), ("(3, 1)", "(3, 4)"), ("(3, 4)", "(3, 3)"))
    ),
    "r.UniformQuantizedClipByValue(operand=q('qint32', (3, 4), 1, -500, 500), min=q('qint32', "
    "(4,), 2, -300, -100), max=q('qint32', (4,), 3, 100, 300), scales=[.1] * 4, zero_points=[1] * "
    f"4, {_bounds('', 'qint32', 1)})",
    *(
        f"{_CONV}{_FILTER}{_OUT}, Tout=tf.qint32, {_SIDES}, {more})"
        for more in (
            "padding='SAME'",
            "padding='VALID', window_strides=[2, 1]",
            "padding='EXPLICIT', explicit_padding=[1, 2, 0, 1]",
            "padding='VALID', rhs_dilation=[2, 1]",
            "padding='VALID', lhs_dilation=[2, 3]",
            "padding='VALID', batch_group_count=2",
            "padding='VALID', window_strides=[2]",
        )
    ),
    f"{_CONV}{_FILTER.replace('(4, 2, 2', '(4, 1, 2')}{_OUT}, Tout=tf.qint32, {_SIDES}, "
    "padding='VALID', feature_group_count=2)",
    *(
        f"{_HYBRID}{_FILTER}Tout=tf.float32, {_bounds('rhs_', 'qint8')}, {more})"
        for more in ("padding='SAME'", "padding='VALID', window_strides=[2, 1]")
    ),
]


def texts() -> list[str]:
    """The texts."""
    return _TEXTS
