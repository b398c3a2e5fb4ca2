"""Train a convolutional network on real handwritten digits, three ways that give the same losses.

    penstock run examples/digits.py
    penstock run examples/digits.py --variant session --epochs 5 --out runs/mine

The 1797 digits of 8 by 8 pixels come with scikit-learn. A quarter of each digit is held out; it is
looked at once, after training. `--variant` chooses who runs a training step: Python, one operation
after the other (`eager`); a session that is fed placeholders (`session`); or one compiled
function (`function`). `--shuffle-labels` takes the meaning out of the training labels: what is
left is guessing, about 10%.

Written to the output folder: the graph of a training step (`graph.pb`), the log for TensorBoard
(`events.out.tfevents...`), the loss curve (`loss.png`) and the held-out digits' `predictions.csv`.
"""

import argparse
import csv
import itertools
import math
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import penstock as tf
from penstock.cli import progress

v1 = tf.compat.v1

SPLIT_SEED = 0  # of the held-out quarter: the same in every run, whatever --seed says
LEARNING_RATE = 2e-3
SIZE, CLASSES = 8, 10
LARGEST = 2**31 - 1  # of the numbers on the command line

Array = np.ndarray


# ---- data


class Digits(NamedTuple):
    """Images in [0, 1], their labels, and where they stand in scikit-learn's data set."""

    images: Array  # float32[N, 8, 8, 1]
    labels: Array  # int32[N]
    index: Array  # int64[N]


def load_data(shuffle_labels: bool, seed: int) -> tuple[Digits, Digits]:
    """The training digits and the held-out quarter."""
    raw = load_digits()
    images = (raw.images[..., None] / 16.0).astype(np.float32)
    labels = raw.target.astype(np.int32)
    parts = train_test_split(
        np.arange(len(labels)), test_size=0.25, stratify=labels, random_state=SPLIT_SEED
    )
    train, test = (Digits(images[part], labels[part], part) for part in parts)
    if shuffle_labels:
        train = train._replace(labels=np.random.default_rng(seed).permutation(train.labels))
    return train, test


def batches(data: Digits, size: int, epochs: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """Images and labels of each step, in a new order every epoch; all batches are full."""
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(len(data.labels))
        for start in range(0, len(order) - size + 1, size):
            rows = order[start : start + size]
            yield data.images[rows], data.labels[rows]


# ---- the network, and what a step computes


class Network:
    """Two convolutions, a pooling and two dense layers: float32[N, 8, 8, 1] -> logits [N, 10]."""

    SHAPES = ((3, 3, 1, 16), (3, 3, 16, 32), (4 * 4 * 32, 64), (64, CLASSES))

    def __init__(self, seed: int) -> None:
        self.weights: list[tf.Variable] = []
        self.biases: list[tf.Variable] = []
        for layer, shape in enumerate(self.SHAPES):
            scale = np.sqrt(2.0 / np.prod(shape[:-1]))
            start = scale * tf.random.stateless_normal(shape, seed=[seed, layer])
            self.weights.append(tf.Variable(start, name=f"weights{layer}"))
            self.biases.append(tf.Variable(tf.zeros(shape[-1]), name=f"biases{layer}"))

    @property
    def variables(self) -> list[tf.Variable]:
        """What training changes."""
        return self.weights + self.biases

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        """The logits of images."""
        x = tf.nn.relu(self._convolve(0, images))
        x = tf.nn.relu(self._convolve(1, x))
        x = tf.nn.max_pool2d(x, ksize=2, strides=2, padding="VALID")
        x = tf.reshape(x, [-1, self.SHAPES[2][0]])
        x = tf.nn.relu(self._multiply(2, x))
        return self._multiply(3, x)

    def _convolve(self, layer: int, x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope(f"layer{layer}"):
            x = tf.nn.conv2d(x, self.weights[layer], strides=1, padding="SAME")
            return tf.nn.bias_add(x, self.biases[layer])

    def _multiply(self, layer: int, x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope(f"layer{layer}"):
            return tf.nn.bias_add(tf.matmul(x, self.weights[layer]), self.biases[layer])


def measure(logits: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The mean loss, and the share of digits that are right."""
    with tf.name_scope("loss"):
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses)
    with tf.name_scope("accuracy"):
        right = tf.equal(tf.argmax(logits, axis=-1, output_type=labels.dtype), labels)
        return loss, tf.reduce_mean(tf.cast(right, tf.float32))


# ---- three ways to run it


class Trainer(NamedTuple):
    """What training needs of a variant."""

    graph: tf.Graph  # of a training step
    step: Callable[[Array, Array], tuple[float, float]]  # images, labels -> loss, accuracy
    classify: Callable[[Array], Array]  # images -> probabilities [N, 10]


@contextmanager
def eager_trainer(seed: int, compiled: bool = False) -> Iterator[Trainer]:
    """Operation by operation; or, when `compiled`, as a function that is traced once."""
    network = Network(seed)
    optimizer = v1.train.AdamOptimizer(LEARNING_RATE)

    def train(images: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            loss, accuracy = measure(network(images), labels)
        gradients = tape.gradient(loss, network.variables)
        optimizer.apply_gradients(zip(gradients, network.variables, strict=True))
        return loss, accuracy

    function = tf.function(
        train,
        input_signature=[
            tf.TensorSpec([None, SIZE, SIZE, 1], tf.float32, name="images"),
            tf.TensorSpec([None], tf.int32, name="labels"),
        ],
    )
    run = function if compiled else train

    def step(images: Array, labels: Array) -> tuple[float, float]:
        loss, accuracy = run(tf.constant(images), tf.constant(labels))
        return float(loss), float(accuracy)

    def classify(images: Array) -> Array:
        return tf.nn.softmax(network(tf.constant(images))).numpy()

    yield Trainer(function.get_concrete_function().graph, step, classify)


def function_trainer(seed: int) -> AbstractContextManager[Trainer]:
    """Like the eager one, with a step that is traced to a graph once and compiled."""
    return eager_trainer(seed, compiled=True)


@contextmanager
def session_trainer(seed: int) -> Iterator[Trainer]:
    """As a graph that is built first, and then run by a session that is fed."""
    with tf.Graph().as_default() as graph:
        network = Network(seed)
        images = v1.placeholder(tf.float32, [None, SIZE, SIZE, 1], name="images")
        labels = v1.placeholder(tf.int32, [None], name="labels")
        logits = network(images)
        loss, accuracy = measure(logits, labels)
        train = v1.train.AdamOptimizer(LEARNING_RATE).minimize(loss)
        probabilities = tf.nn.softmax(logits, name="probabilities")
        initialize = v1.global_variables_initializer()

    with closing(v1.Session(graph=graph)) as session:
        session.run(initialize)

        def step(x: Array, y: Array) -> tuple[float, float]:
            values = session.run([loss, accuracy, train], {images: x, labels: y})
            return float(values[0]), float(values[1])

        def classify(x: Array) -> Array:
            return session.run(probabilities, {images: x})

        yield Trainer(graph, step, classify)


VARIANTS = {"eager": eager_trainer, "function": function_trainer, "session": session_trainer}


# ---- what is written


@contextmanager
def replacing(path: Path, mode: str = "w") -> Iterator[IO]:
    """A file that appears under its name only when it is complete."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with partial.open(mode, newline="" if mode == "w" else None) as file:
        try:
            yield file
        except BaseException:
            partial.unlink()
            raise
    partial.replace(path)


def output_folder(given: Path | None) -> Path:
    """The folder given, or the first `runs/digits/N` that no other run has."""
    if given is not None:
        try:
            given.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise SystemExit(
                f"digits: expected --out to be a folder that can be written to, got {given} "
                f"({problem.strerror}). Name another one."
            ) from None
        return given
    parent = Path("runs/digits")
    parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        with suppress(FileExistsError):
            folder = parent / str(number)
            folder.mkdir()
            return folder
    raise AssertionError("there is always a next number")


def write_curve(path: Path, losses: list[float]) -> None:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="step", ylabel="loss", yscale="log", title="Training loss")
    axes.plot(range(1, len(losses) + 1), losses, linewidth=0.8)
    axes.grid(visible=True, alpha=0.3)
    with replacing(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)


def write_predictions(path: Path, data: Digits, probabilities: Array) -> None:
    found = probabilities.argmax(axis=-1)
    with replacing(path) as file:
        rows = csv.writer(file)
        rows.writerow(["index", "label", "prediction", "probability"])
        for index, label, guess, row in zip(
            data.index, data.labels, found, probabilities, strict=True
        ):
            rows.writerow([index, label, guess, f"{row[guess]:.6f}"])


# ---- the command


def train(trainer: Trainer, data: Digits, options: argparse.Namespace, out: Path) -> None:
    """Runs the steps; what was reached is on disk however it ends."""
    per_epoch = len(data.labels) // options.batch
    total = min(options.steps or math.inf, options.epochs * per_epoch)
    feed = batches(data, options.batch, options.epochs, options.seed)
    losses: list[float] = []
    try:
        with tf.summary.create_file_writer(out).as_default(), progress("training", total) as bar:
            tf.summary.graph(trainer.graph)
            for number, (images, labels) in enumerate(itertools.islice(feed, total), start=1):
                loss, accuracy = trainer.step(images, labels)
                losses.append(loss)
                tf.summary.scalar("loss", loss, step=number)
                tf.summary.scalar("accuracy", accuracy, step=number)
                bar.advance(loss=loss, accuracy=accuracy)
    finally:
        write_curve(out / "loss.png", losses)


def main() -> None:
    options = parse_arguments()
    training, held_out = load_data(options.shuffle_labels, options.seed)
    if options.batch > len(training.labels):
        raise SystemExit(
            f"digits: expected --batch of at most {len(training.labels)}, the number of training "
            f"digits, got {options.batch}."
        )
    out = output_folder(options.out)
    with VARIANTS[options.variant](options.seed) as trainer:
        with replacing(out / "graph.pb", "wb") as file:
            file.write(trainer.graph.as_graph_def(add_shapes=True).SerializeToString())
        train(trainer, training, options, out)
        probabilities = trainer.classify(held_out.images)
    write_predictions(out / "predictions.csv", held_out, probabilities)
    accuracy = np.mean(probabilities.argmax(axis=-1) == held_out.labels)
    print(f"wrote graph.pb, loss.png, predictions.csv and the event log to {out}")
    print(f"test accuracy: {accuracy:.3f}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a network on handwritten digits.")
    add = parser.add_argument
    add("--variant", choices=sorted(VARIANTS), default="function", help="who runs a step")
    add("--epochs", type=positive, default=15, help="passes over the training digits (15)")
    add("--steps", type=positive, help="stop after so many steps")
    add("--batch", type=positive, default=64, help="digits in a step (64)")
    add("--seed", type=natural, default=0, help="of the start values and the order (0)")
    add("--shuffle-labels", action="store_true", help="train on labels that mean nothing")
    add("--out", type=Path, help="the output folder (the next free runs/digits/N)")
    return parser.parse_args()


def natural(text: str, least: int = 0) -> int:
    if not text.isdecimal() or not least <= int(text) <= LARGEST:
        raise argparse.ArgumentTypeError(
            f"expected a whole number from {least} to {LARGEST}, got {text!r}"
        )
    return int(text)


def positive(text: str) -> int:
    return natural(text, least=1)


if __name__ == "__main__":
    main()
