"""Facts about quantisation: what TensorFlow computes from given integers and ranges.

The texts are evaluated with `tf`, `r` (its raw operations), `q` and `f` (arrays from a seed). The
test evaluates the same texts with Penstock; the file keeps them beside the numbers, and beside the
error class where TensorFlow refuses. ``PLAIN`` is recorded without oneDNN, whose kernels leave the
documented formulas in places; ``FUSED`` with it and in functions, for nothing else runs those.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tools.tf_facts_uniform import texts

_NUMPY = {
    "quint8": np.uint8, "qint8": np.int8, "qint32": np.int32, "qint16": np.int16,
    "quint16": np.uint16,
}  # fmt: skip


def names(tf: Any) -> dict[str, Any]:
    """What the texts are evaluated with."""

    def q(dtype: str, shape: Any, seed: int, low: Any = None, high: Any = None) -> Any:
        info = np.iinfo(_NUMPY[dtype])
        low, high = info.min if low is None else low, info.max if high is None else high
        drawn = np.random.default_rng(seed).integers(low, high + 1, shape).astype(_NUMPY[dtype])
        return tf.constant(drawn, getattr(tf, dtype))

    def f(shape: Any, seed: int, low: float = -2.0, high: float = 3.0) -> Any:
        drawn = np.random.default_rng(seed).uniform(low, high, shape)
        return tf.constant(drawn.astype(np.float32))

    return {"tf": tf, "np": np, "r": tf.raw_ops, "q": q, "f": f}


# ---- to integers and back

_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
_RANGES = ((-1.0, 2.0), (-1.3, 2.1), (0.5, 3.0), (-3.0, -1.0), (0.0, 0.0))
CONVERSIONS = [
    *(
        f"r.QuantizeV2(input=f((3, 4), {i}), min_range={low}, max_range={high}, T=tf.{t}, "
        f"mode='{m}')"
        for t in ("quint8", "qint8", "qint16")
        for m in _MODES
        for i, (low, high) in enumerate(_RANGES)
    ),
    *(
        f"r.QuantizeV2(input=f((3, 4), 3, -1.5, 1.5), min_range=-.2, max_range=.1, T=tf.qint8, {e})"
        for e in (
            "mode='SCALED', round_mode='HALF_TO_EVEN'",
            "mode='SCALED', narrow_range=True",
            "ensure_minimum_range=0.0",
            "ensure_minimum_range=0.5",
            "mode='MIN_FIRST', round_mode='HALF_TO_EVEN'",
            "axis=0",
        )
    ),
    *(
        "r.QuantizeV2(input=[-1., -.5, 0., .5, 1., 1.5, 2., 2.5], min_range=-127., max_range=128., "
        f"T=tf.{t}, mode='{m}')"
        for t in ("quint8", "qint8")
        for m in _MODES
    ),
    *(
        f"r.QuantizeV2(input=f((2, 3, 2), 3), min_range=[-1., -2., 0.], max_range=[1., 1., 4.], "
        f"T=tf.quint16, mode='{m}', axis=1)"
        for m in _MODES
    ),
    "r.QuantizeV2(input=f((0, 4), 3), min_range=-1., max_range=1., T=tf.quint8)",
    "r.QuantizeV2(input=[float('nan'), float('inf'), -float('inf')], min_range=-1., max_range=1., "
    "T=tf.qint8)",
    "r.QuantizeV2(input=f((3, 4), 3), min_range=2., max_range=1., T=tf.quint8)",
    "r.QuantizeV2(input=f((3, 4), 3), min_range=[-1., -2.], max_range=[1., 2.], T=tf.quint8)",
    "r.QuantizeV2(input=f((3, 4), 3), min_range=[-1., -2.], max_range=[1., 2.], T=tf.quint8, "
    "axis=2)",
    "r.QuantizeV2(input=f((3, 4), 3), min_range=-1., max_range=1., T=tf.float32)",
    *(
        f"r.Dequantize(input=q('{t}', (3, 4), 1), min_range={low}, max_range={high}, mode='{m}', "
        f"narrow_range={n})"
        for t in ("quint8", "qint8", "qint32", "qint16")
        for m in _MODES
        for low, high, n in ((-1.3, 2.1, False), (0.5, 3.0, True), (0.0, 0.0, False))
    ),
    *(
        "r.Dequantize(input=q('qint8', (2, 3, 2), 1), min_range=[-1., -2., 0.], max_range=[1., 1., "
        f"4.], mode='{m}', axis=1)"
        for m in _MODES
    ),
    *(
        "r.Dequantize(input=q('quint8', (3, 4), 1), min_range=-1., max_range=2., "
        f"mode='{m}', dtype=tf.bfloat16)"
        for m in _MODES
    ),
    "r.Dequantize(input=q('quint8', (3, 4), 1), min_range=-1., max_range=1., axis=5)",
]
ROUNDED = [
    *(
        f"r.QuantizeAndDequantizeV{v}(input=f((3, 4), {bits}), input_min={low}, input_max={high}, "
        f"signed_input={signed}, num_bits={bits}, range_given={given}, narrow_range={narrow}{mode})"
        for v, mode in ((2, ", round_mode='HALF_UP'"), (4, ""), (3, ""))
        for bits in (8, 3)
        for signed, narrow in ((True, False), (True, True), (False, False))
        for low, high, given in ((-1.0, 2.0, True), (0.5, 1.0, True), (0.0, 0.0, False))
    ),
    "r.QuantizeAndDequantizeV2(input=f((2, 3), 3), input_min=[0.] * 3, input_max=[0.] * 3, axis=1)",
    "r.QuantizeAndDequantizeV3(input=f((3, 2, 2), 3), input_min=[-1., -2., 0.], input_max=[1., 1., "
    "4.], num_bits=8, axis=0)",
    "r.QuantizeAndDequantizeV2(input=f((0, 4), 3), input_min=-1., input_max=1.)",
    "r.QuantizeAndDequantizeV2(input=f((3, 4), 1), input_min=2., input_max=1., range_given=True)",
    "r.QuantizeAndDequantizeV2(input=f((3, 4), 1), input_min=0., input_max=1., num_bits=0)",
    "r.QuantizeAndDequantizeV2(input=f((3, 4), 1), input_min=0., input_max=1., num_bits=63)",
    "r.QuantizeAndDequantizeV3(input=f((3, 4), 1), input_min=0., input_max=1., num_bits=[8])",
    "r.QuantizeAndDequantizeV4Grad(gradients=f((3, 4), 2), input=f((3, 4), 1), input_min=-1., "
    "input_max=2.)",
    "r.QuantizeAndDequantizeV4Grad(gradients=f((3, 4), 2), input=f((3, 4), 1), input_min=[-1., 0., "
    "-2.], input_max=[1., 2., 0.], axis=0)",
    "r.QuantizeAndDequantizeV4Grad(gradients=f((2, 4), 2), input=f((3, 4), 1), input_min=-1., "
    "input_max=2.)",
]

# ---- ranges, sums, products


def _ints(seed: int, low: int = -1000, high: int = 1000) -> str:
    return f"q('qint32', (3, 4), {seed}, {low}, {high})"


RANGES = [
    *(
        f"r.{op}(input={_ints(i, *ends)}, input_min={low}, input_max={high}{more})"
        for op, more in (
            ("RequantizationRange", ""),
            ("QuantizeDownAndShrinkRange", ", out_type=tf.quint8"),
            (
                "Requantize",
                ", requested_output_min=-5e-6, requested_output_max=5e-6, out_type=tf.quint8",
            ),
            (
                "Requantize",
                ", requested_output_min=-1e-5, requested_output_max=0., out_type=tf.qint8",
            ),
        )
        for i, ends in enumerate(((-1000, 1000), (5, 1000), (-1000, -5)))
        for low, high in ((-10.0, 10.0), (-4.0, 4.0))
    ),
    f"r.Requantize(input={_ints(1)}, input_min=-2., input_max=1., requested_output_min=.5, "
    "requested_output_max=1., out_type=tf.quint8)",
    f"r.Requantize(input={_ints(1)}, input_min=[-2.], input_max=1., requested_output_min=0., "
    "requested_output_max=1., out_type=tf.quint8)",
    *(
        f"r.RequantizePerChannel(input=tf.reshape({_ints(1)}, (1, 1, 3, 4)), input_min=[-10.] * 4, "
        "input_max=[10., 3., 1., 2.], requested_output_min=-1e-6, requested_output_max=2e-6, "
        f"out_type=tf.{t})"
        for t in ("quint8", "qint8")
    ),
    *(
        f"r.RequantizationRangePerChannel(input=tf.reshape({_ints(*ints)}, (1, 1, 3, 4)), "
        f"input_min=[-10., -1., -2., -3.], input_max=[10., 3., 1., 2.], clip_value_max={clip})"
        for ints in ((1,), (2, 5, 90))
        for clip in (100.0, 1e-6)
    ),
    f"r.RequantizationRangePerChannel(input={_ints(1)}, input_min=[1.] * 4, input_max=[2.] * 4, "
    "clip_value_max=1.)",
]
_PAIRS = ((-1.0, 1.0, -2.0, 1.0), (0.0, 1.0, 0.0, 3.0), (-5.0, 5.0, -1.0, 1.0))
ELEMENTWISE = [
    *(
        f"r.{op}(x=q('quint8', {x}, 1), y=q('quint8', {y}, 2), min_x={a}, max_x={b}, min_y={c}, "
        f"max_y={d})"
        for op in ("QuantizedAdd", "QuantizedMul")
        for x, y in (("(3, 4)", "(3, 4)"), ("(4,)", "(3, 4)"), ("()", "(3, 4)"))
        for a, b, c, d in _PAIRS
    ),
    "r.QuantizedMul(x=q('quint8', (4,), 1), y=q('quint8', (4,), 2), min_x=.5, max_x=1., min_y=0., "
    "max_y=1.)",
    "r.QuantizedMul(x=q('quint8', (2,), 1), y=q('quint8', (2,), 2), min_x=1., max_x=0., min_y=0., "
    "max_y=1.)",
    "r.QuantizedAdd(x=q('quint8', (2, 3), 1), y=q('quint8', (4,), 2), min_x=0., max_x=1., "
    "min_y=0., max_y=1.)",
    *(
        f"r.QuantizedBiasAdd(input=q('{t}', (2, 3), 1), bias=q('{t}', (3,), 2), min_input={a}, "
        f"max_input={b}, min_bias={c}, max_bias={d}, out_type=tf.qint32)"
        for t in ("quint8", "qint8")
        for a, b, c, d in _PAIRS
    ),
    "r.QuantizedBiasAdd(input=q('quint8', (3,), 1), bias=q('quint8', (3,), 2), min_input=-1., "
    "max_input=1., min_bias=0., max_bias=1., out_type=tf.qint32)",
    *(
        f"r.{op}(features=q('{t}', (3, 4), 1), min_features={low}, max_features={high}, "
        f"out_type=tf.{t})"
        for op in ("QuantizedRelu", "QuantizedRelu6")
        for t in ("quint8", "qint32")
        for low, high in ((-1.0, 2.0), (0.0, 10.0), (-10.0, 10.0))
    ),
    *(
        f"r.QuantizedMatMul(a=q('quint8', (2, 3), 1), b=q('quint8', (3, 4), 2), min_a={a}, "
        f"max_a={b}, min_b={c}, max_b={d})"
        for a, b, c, d in (*_PAIRS, (0.5, 1.0, 0.0, 1.0))
    ),
    "r.QuantizedMatMul(a=q('quint8', (3, 2), 1), b=q('quint8', (4, 3), 2), min_a=-1., max_a=2., "
    "min_b=-1., max_b=1., transpose_a=True, transpose_b=True)",
    "r.QuantizedMatMul(a=q('quint8', (3, 2), 1), b=q('quint8', (4, 3), 2), min_a=-1., max_a=2., "
    "min_b=-1., max_b=1.)",
    *(
        f"r.QuantizedConv2D(input=q('quint8', (1, 3, 4, 2), 1), filter=q('quint8', (2, 2, 2, 3), "
        f"2), min_input={a}, max_input={b}, min_filter={c}, max_filter={d}, strides={s}, "
        f"padding='{p}')"
        for a, b, c, d in (*_PAIRS, (0.5, 1.0, 0.5, 1.0))
        for s, p in (([1, 1, 1, 1], "SAME"), ([1, 2, 2, 1], "VALID"))
    ),
]

# ---- images

_POOL = "min_input=-1., max_input=2., ksize={}, strides={}, padding='{}')"
_NORM = "r.QuantizedInstanceNorm(x=q('quint8', (2, 4, 4, 3), 1), "
IMAGES = [
    *(
        f"r.QuantizedResizeBilinear(images=q('{t}', (2, 3, 3, 2), 1), size={size}, min=-1., "
        f"max=2., align_corners={a}, half_pixel_centers={h})"
        for t in ("quint8", "qint32")
        for size, a, h in (
            ([5, 4], False, False),
            ([2, 3], True, False),
            ([6, 6], False, True),
            ([0, 5], False, False),
        )
    ),
    *(
        f"{_NORM}x_min={low}, x_max={high}{more})"
        for low, high in ((0.0, 1.0), (-1.0, 2.0))
        for more in (
            "",
            ", output_range_given=True, given_y_min=-2., given_y_max=2.",
            ", variance_epsilon=.1, min_separation=10.",
        )
    ),
    f"{_NORM}x_min=1., x_max=0.)",
    *(
        "r.QuantizedBatchNormWithGlobalNormalization(t=q('quint8', (1, 2, 2, 2), 1), t_min=-1., "
        "t_max=2., m=q('quint8', (2,), 2), m_min=-1., m_max=2., v=q('quint8', (2,), 3), v_min=0., "
        "v_max=1., beta=q('quint8', (2,), 4), beta_min=-1., beta_max=2., gamma=q('quint8', (2,), "
        "5), gamma_min=-1., gamma_max=2., out_type=tf.qint32, variance_epsilon=.01, "
        f"scale_after_normalization={scale})"
        for scale in (True, False)
    ),
    *(
        f"r.QuantizedConcat(concat_dim=0, values=[q('{t}', (2, 3), 1), q('{t}', (4, 3), 2)], "
        f"input_mins=[{a}, {b}], input_maxes=[{c}, {d}])"
        for t in ("quint8", "qint32")
        for a, b, c, d in ((-1.0, -1.0, 2.0, 2.0), (-1.0, 0.0, 1.0, 6.0), (-1.0, -5.0, 1.0, 2.0))
    ),
    "r.QuantizedConcat(concat_dim=-1, values=[q('quint8', (2,), 1), q('quint8', (1,), 2)], "
    "input_mins=[-1., 0.], input_maxes=[1., 2.])",
    "r.QuantizedReshape(tensor=q('quint8', (2, 3), 1), shape=[3, -1], input_min=-1., input_max=2.)",
    "r.QuantizedReshape(tensor=q('quint8', (2, 3), 1), shape=[4], input_min=-1., input_max=2.)",
]

PLAIN = [*CONVERSIONS, *ROUNDED, *RANGES, *ELEMENTWISE, *IMAGES, *texts()]

# ---- what only oneDNN runs

_BIASES = ("[.5, -.5, .26]", "tf.constant(np.int32([10, -10, 5]), tf.qint32)")
_FROZEN = "min_freezed_output={}, max_freezed_output={}"
_AB = (
    "a=q('quint8', (2, 3), 1), b=q('qint8', (3, 3), 2), bias={}, min_a=0., max_a={}, min_b={}, "
    "max_b={}"
)
_IMAGE = "min_input={}, max_input={}, min_filter={}, max_filter={}, strides={}, padding='{}'"
_KINDS = (
    ("AndRelu", False, False),
    ("AndReluAndRequantize", False, True),
    ("AndRequantize", False, True),
    ("WithBias", True, False),
    ("WithBiasAndRelu", True, False),
    ("WithBiasAndReluAndRequantize", True, True),
    ("WithBiasAndRequantize", True, True),
)
_PLACES = (
    (0.0, 1.0, -1.0, 1.0, [1, 1, 1, 1], "SAME"),
    (-1.0, 2.0, -2.0, 1.5, [1, 2, 2, 1], "VALID"),
)
FUSED = [
    *(
        f"r.QuantizedMatMulWithBias{kind}({_AB.format(bias, *ends)}{frozen})"
        for ends in ((1.0, -1.0, 1.0), (6.0, -2.0, 1.5))
        for bias in _BIASES
        for kind, frozen in (
            ("", ""),
            ("AndRequantize", ", " + _FROZEN.format(-3.0, 5.0)),
            ("AndReluAndRequantize", ", " + _FROZEN.format(0.0, 4.0)),
            ("AndDequantize", ", " + _FROZEN.format(0.0, 4.0) + ", Toutput=tf.float32"),
        )
    ),
    f"r.QuantizedMatMulWithBiasAndRelu({_AB.format(_BIASES[0], 1.0, -1.0, 1.0)})",
    *(
        f"r.QuantizedConv2D{kind}(input=q('{t}', (1, 3, 4, 2), 1), filter=q('qint8', (2, 2, 2, 3), "
        f"2), {_IMAGE.format(*place)}{f', bias={bias}' if with_bias else ''}"
        f"{', ' + _FROZEN.format(*ends) if frozen else ''})"
        for kind, with_bias, frozen in _KINDS
        for t in (("quint8", "qint8") if with_bias else ("quint8",))
        for bias in (_BIASES if with_bias and frozen else _BIASES[:1])
        for place, ends in zip(_PLACES, ((-3.0, 5.0), (-0.1, 0.2)), strict=True)
    ),
    *(
        f"r.QuantizedConv2D(input=q('quint8', (1, 3, 4, 2), 1), filter=q('qint8', (2, 2, 2, 3), "
        f"2), {_IMAGE.format(*place)})"
        for place in _PLACES
    ),
    *(
        "r.QuantizedConv2DAndRelu(input=q('quint8', (1, 5, 5, 2), 1), filter=q('qint8', (2, 2, 2, "
        f"3), 2), {_IMAGE.format(0.0, 1.0, -1.0, 1.0, [1, 1, 1, 1], 'VALID')}, {more})"
        for more in ("padding_list=[0, 0, 1, 2, 0, 1, 0, 0]", "dilations=[1, 2, 2, 1]")
    ),
    *(
        f"r.QuantizedDepthwiseConv2D{kind}(input=q('quint8', (1, 3, 4, 2), 1), filter=q('qint8', "
        f"(2, 2, 2, 1), 2), {_IMAGE.format(*place)}{', bias=[.5, -.26]' if kind else ''}"
        f"{', ' + _FROZEN.format(-0.1, 0.2) if 'Requantize' in kind else ''})"
        for kind in ("", "WithBias", "WithBiasAndRelu", "WithBiasAndReluAndRequantize")
        for place in _PLACES
    ),
    *(
        f"r.Quantized{kind}Pool(input=q('{t}', (2, 5, 6, 2), 1), {_POOL.format(k, s, p)}"
        for kind in ("Avg", "Max")
        for t in ("quint8", "qint8")
        for k, s, p in (
            ([1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
            ([1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
            ([1, 9, 9, 1], [1, 1, 1, 1], "VALID"),
        )
    ),
]


def outcome(tf: Any, text: str, in_function: bool) -> Any:
    """The numbers, dtypes and shapes of a text's results, or the class of its error."""
    known = names(tf)

    def run() -> Any:
        return eval(text, known)

    try:
        made = tf.function(run)() if in_function else run()
    except Exception as problem:
        return type(problem).__name__
    results = made if isinstance(made, (tuple, list)) else [made]
    return [
        [r.dtype.name, list(r.shape), np.asarray(r.numpy()).astype(np.float64).ravel().tolist()]
        for r in results
    ]


def _recorded(texts: list[str], in_function: bool) -> dict[str, Any]:
    import tensorflow as tf

    return {text: outcome(tf, text, in_function) for text in texts}


def record() -> dict[str, Any]:
    """The facts: oneDNN is chosen when TensorFlow starts, so each half has its own process."""
    halves = {}
    for half, enabled in (("plain", "0"), ("fused", "1")):
        settings = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": enabled}
        done = subprocess.run(
            [sys.executable, __file__, half], env=settings, capture_output=True, check=True
        )
        halves[half] = json.loads(done.stdout)
    return halves


if __name__ == "__main__":
    wanted = sys.argv[1]
    print(json.dumps(_recorded(PLAIN if wanted == "plain" else FUSED, wanted == "fused")))
