"""Products and convolutions of ResNet-50, a U-Net and a transformer, in GFLOP/s beside the peers.

    python benchmarks/native/kernels.py --python .venv/bin/python       # a table of all columns
    python benchmarks/native/kernels.py --column penstock               # one column, as JSON lines

A figure is operations by second of one core, to which every process is bound: by processor time, so
that others who use the machine disturb it less than by wall time. The share is of what a loop of
multiply-adds in registers reaches on one core (`limit.cc`), measured in the same run. The columns
are measured in turns, a few shapes at a time, so that a change in the machine's speed hits all of
them; a figure is the best of all rounds. The peers' interpreters are those that
`benchmarks/peers/setup.sh` makes.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PEERS = pathlib.Path(os.environ.get("PEERS_HOME", pathlib.Path.home() / ".cache/penstock-peers"))

LIMIT = pathlib.Path(__file__).with_name("limit.cc")

# name, images, size, channels, filters, window, stride, and groups where there are several
CONVS = [
    ("resnet stem 7x7/2", 4, 224, 3, 64, 7, 2),
    ("resnet 1x1 64-64", 8, 56, 64, 64, 1, 1),
    ("resnet 3x3 64-64", 8, 56, 64, 64, 3, 1),
    ("resnet 1x1 64-256", 8, 56, 64, 256, 1, 1),
    ("resnet 3x3/2 128-128", 8, 56, 128, 128, 3, 2),
    ("resnet 3x3 128-128", 8, 28, 128, 128, 3, 1),
    ("resnet 1x1/2 512-1024", 8, 28, 512, 1024, 1, 2),
    ("resnet 3x3 256-256", 8, 14, 256, 256, 3, 1),
    ("resnet 1x1 1024-256", 8, 14, 1024, 256, 1, 1),
    ("resnet 3x3 512-512", 8, 7, 512, 512, 3, 1),
    ("unet 3x3 3-32", 1, 256, 3, 32, 3, 1),
    ("unet 3x3 64-32", 1, 256, 64, 32, 3, 1),
    ("unet 3x3 256-128", 1, 64, 256, 128, 3, 1),
    ("resnext 3x3 128, 32 groups", 4, 56, 128, 128, 3, 1, 32),
    ("depthwise 3x3 128", 4, 56, 128, 128, 3, 1, 128),
    ("depthwise 7x7 192", 4, 28, 192, 192, 7, 1, 192),
]
# name, batch, m, n, k, transposes
PRODUCTS = [
    ("square 1024", 0, 1024, 1024, 1024, False, False),
    ("transformer qkv", 0, 2048, 768, 256, False, False),
    ("transformer qkv by input", 0, 2048, 256, 768, False, True),
    ("transformer qkv by weights", 0, 256, 768, 2048, True, False),
    ("transformer inner", 0, 2048, 1024, 256, False, False),
    ("transformer inner by weights", 0, 256, 1024, 2048, True, False),
    ("attention scores", 64, 128, 128, 64, False, True),
    ("attention mixing", 64, 128, 64, 128, False, False),
    ("attention by values", 64, 128, 64, 128, True, False),
    ("dense 64 x 3136", 0, 64, 128, 3136, False, False),
    ("recurrent 32 x 256", 0, 32, 1024, 256, False, False),
]
GRADIENTS = {
    "resnet 3x3 64-64",
    "resnet 3x3/2 128-128",
    "resnet 3x3 256-256",
    "unet 3x3 64-32",
    "resnext 3x3 128, 32 groups",
    "depthwise 3x3 128",
    "depthwise 7x7 192",
}


def cases():
    """(name, kind, numbers) of every figure."""
    for name, *numbers in PRODUCTS:
        yield name, "product", numbers
    for name, *numbers in CONVS:
        yield name, "forward", numbers
        if name in GRADIENTS:
            yield f"{name}, by input", "by input", numbers
            yield f"{name}, by filter", "by filter", numbers


def work(kind, numbers):
    """Floating-point operations of a case."""
    if kind == "product":
        batch, m, n, k = numbers[:4]
        return 2 * max(batch, 1) * m * n * k
    images, size, channels, filters, window, stride, *groups = numbers
    inner = channels // (groups or [1])[0]
    return 2 * images * (-(-size // stride)) ** 2 * inner * filters * window**2


def best_time(call):
    """Seconds of processor time that the fastest call takes, of several where one is short."""
    call()
    start = time.perf_counter()
    for _ in range(3):
        call()
    together = max(1, int(0.003 / ((time.perf_counter() - start) / 3)))
    best, end = float("inf"), time.perf_counter() + 0.6
    while time.perf_counter() < end or best == float("inf"):
        start = time.process_time()
        for _ in range(together):
            call()
        best = min(best, (time.process_time() - start) / together)
    return best


def limit():
    """GFLOP/s of multiply-adds in registers on one core; None without a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        made = f"{folder}/limit"
        command = [os.environ.get("CXX", "c++"), "-O3", "-march=native", LIMIT, "-o", made]
        subprocess.run(command, check=True)
        return float(subprocess.run([made], capture_output=True, text=True).stdout.split()[0])


def waited(tf, function, *arguments):
    """A call of a function that waits for its result without copying it."""

    def both():
        result = function(*arguments)
        return result, tf.reshape(result, [-1])[0]

    compiled = tf.function(both)
    return lambda: compiled()[1].numpy()


def tensorflow_call(tf, kind, numbers):
    """A call of a compiled function, for TensorFlow and Penstock alike."""
    if kind == "product":
        batch, m, n, k, adj_a, adj_b = numbers
        lead = [batch] if batch else []
        a = tf.random.normal([*lead, *((k, m) if adj_a else (m, k))])
        b = tf.random.normal([*lead, *((n, k) if adj_b else (k, n))])
        return waited(tf, lambda a, b: tf.matmul(a, b, adj_a, adj_b), a, b)
    images, size, channels, filters, window, stride, *groups = numbers
    out = -(-size // stride)
    if groups == [channels]:
        return depthwise_call(tf, kind, numbers)
    x = tf.random.normal([images, size, size, channels])
    w = tf.random.normal([window, window, channels // (groups or [1])[0], filters])
    dy = tf.random.normal([images, out, out, filters])
    options = {"strides": [1, stride, stride, 1], "padding": "SAME"}
    raw = tf.raw_ops
    functions = {
        "forward": lambda: raw.Conv2D(input=x, filter=w, **options),
        "by input": lambda: raw.Conv2DBackpropInput(
            input_sizes=list(x.shape), filter=w, out_backprop=dy, **options
        ),
        "by filter": lambda: raw.Conv2DBackpropFilter(
            input=x, filter_sizes=list(w.shape), out_backprop=dy, **options
        ),
    }
    return waited(tf, functions[kind])


def depthwise_call(tf, kind, numbers):
    """The same for a depthwise convolution, which has operations of its own."""
    images, size, channels, _, window, stride, _ = numbers
    out = -(-size // stride)
    x = tf.random.normal([images, size, size, channels])
    w = tf.random.normal([window, window, channels, 1])
    dy = tf.random.normal([images, out, out, channels])
    options = {"strides": [1, stride, stride, 1], "padding": "SAME"}
    raw = tf.raw_ops
    functions = {
        "forward": lambda: raw.DepthwiseConv2dNative(input=x, filter=w, **options),
        "by input": lambda: raw.DepthwiseConv2dNativeBackpropInput(
            input_sizes=list(x.shape), filter=w, out_backprop=dy, **options
        ),
        "by filter": lambda: raw.DepthwiseConv2dNativeBackpropFilter(
            input=x, filter_sizes=list(w.shape), out_backprop=dy, **options
        ),
    }
    return waited(tf, functions[kind])


def torch_call(torch, kind, numbers):
    """The same with PyTorch, channels last in memory."""
    if kind == "product":
        batch, m, n, k, adj_a, adj_b = numbers
        lead = [batch] if batch else []
        a = torch.randn(*lead, *((k, m) if adj_a else (m, k)))
        b = torch.randn(*lead, *((n, k) if adj_b else (k, n)))
        a = a.transpose(-1, -2) if adj_a else a
        b = b.transpose(-1, -2) if adj_b else b
        return lambda: torch.matmul(a, b)
    images, size, channels, filters, window, stride, *rest = numbers
    groups = (rest or [1])[0]
    out, last = -(-size // stride), {"memory_format": torch.channels_last}
    x = torch.randn(images, channels, size, size).to(**last)
    w = torch.randn(filters, channels // groups, window, window).to(**last)
    pad = window // 2
    if kind == "forward":
        return lambda: torch.nn.functional.conv2d(x, w, stride=stride, padding=pad, groups=groups)
    dy = torch.randn(images, filters, out, out).to(**last)
    mask = [kind == "by input", kind == "by filter", False]
    backward = torch.ops.aten.convolution_backward
    steps = [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups
    return lambda: backward(dy, x, w, None, *steps, mask)


def print_column(column, names):
    """Measures the cases of one column and prints them as JSON lines.

    A peer may have no kernel: TensorFlow has none for gradients in groups without oneDNN, which it
    uses on some processors alone.
    """
    # On one core: what a thread has run on another core is booked at that core's next tick only.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    module = __import__(column)
    make = torch_call if column == "torch" else tensorflow_call
    for name, kind, numbers in cases():
        if name in names:
            try:
                seconds = best_time(make(module, kind, numbers))
            except Exception as problem:
                if column == "penstock":
                    raise
                print(f"{column} has no figure for {name}: {problem}"[:300], file=sys.stderr)
                continue
            print(json.dumps([name, work(kind, numbers) / seconds / 1e9]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="that has penstock")
    parser.add_argument("--column", choices=["penstock", "tensorflow", "torch"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("names", nargs="*", help="of cases; all when none is given")
    arguments = parser.parse_args()
    names = arguments.names or [name for name, _, _ in cases()]
    if arguments.column:
        print_column(arguments.column, set(names))
        return
    best, top = {}, limit()
    # PyTorch's threads wait by spinning unless told otherwise: that is no work.
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "TF_CPP_MIN_LOG_LEVEL": "3"}
    pythons = {
        "penstock": arguments.python,
        "tensorflow": PEERS / "tensorflow/bin/python",
        "torch": PEERS / "torch/bin/python",
    }
    for _ in range(arguments.rounds):
        for first in range(0, len(names), 8):
            for column, python in pythons.items():
                command = [python, __file__, "--column", column, *names[first : first + 8]]
                done = subprocess.run(
                    command, stdout=subprocess.PIPE, text=True, check=True, env=environment
                )
                for line in done.stdout.splitlines():
                    name, figure = json.loads(line)
                    best[name, column] = max(figure, best.get((name, column), 0.0))
    print(f"One core: {top:.0f} GFLOP/s in registers.\n")
    print("| case | penstock | TensorFlow | PyTorch | share of the limit | / fastest peer |")
    print("|---|---|---|---|---|---|")
    for name in names:
        ours, *peers = (best.get((name, column), 0.0) for column in pythons)
        shown = " | ".join(f"{figure:.0f}" if figure else "-" for figure in (ours, *peers))
        beside = f"{ours / max(peers):.2f}" if any(peers) else "-"
        print(f"| {name} | {shown} | {ours / top:.2f} | {beside} |", flush=True)


if __name__ == "__main__":
    main()
