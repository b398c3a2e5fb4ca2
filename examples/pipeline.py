"""A pipeline from files, and a run that is stopped and goes on where it was.

    penstock run examples/pipeline.py

Points on a noisy line are written to two files of records. A pipeline reads the files in turn,
shuffles, parses a batch of records at once, and prepares batches while the step before them runs. A
checkpoint holds the variables and where the pipeline is, so the run that was stopped half-way ends
with the very bits of the one that was not.
"""

import pathlib
import tempfile

import numpy as np

import penstock as tf

POINTS, FILES, BATCH, EPOCHS, STOP = 1200, 2, 50, 8, 77
SLOPE, OFFSET, NOISE, RATE = 3.0, -1.0, 0.1, 0.05
FEATURES = {name: tf.io.FixedLenFeature([], tf.float32) for name in ("x", "y")}


def write_points(folder: pathlib.Path) -> list[str]:
    """Writes the points as records, and returns the names of the files."""
    rng = np.random.default_rng(0)
    xs = rng.uniform(-1.0, 1.0, POINTS)
    ys = SLOPE * xs + OFFSET + rng.normal(0.0, NOISE, POINTS)
    paths = [str(folder / f"points-{number}.tfrecord") for number in range(FILES)]
    for number, path in enumerate(paths):
        with tf.io.TFRecordWriter(path) as writer:
            for x, y in zip(xs[number::FILES], ys[number::FILES], strict=True):
                writer.write(example(x, y))
    return paths


def example(x: float, y: float) -> bytes:
    """One point as a record."""
    values = {"x": x, "y": y}
    feature = {
        name: tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
        for name, value in values.items()
    }
    record = tf.train.Example(features=tf.train.Features(feature=feature))
    return bytes(record.SerializeToString())


def batches(paths: list[str]) -> tf.data.Dataset:
    """The points in batches, shuffled anew in each epoch."""
    names = tf.data.Dataset.from_tensor_slices(paths)
    records = names.interleave(tf.data.TFRecordDataset, cycle_length=FILES)
    shuffled = records.shuffle(200, seed=1).repeat(EPOCHS).batch(BATCH)
    parsed = shuffled.map(lambda batch: tf.io.parse_example(batch, FEATURES), tf.data.AUTOTUNE)
    return parsed.prefetch(tf.data.AUTOTUNE)


class Run(tf.Module):
    """A line that is being fitted, and the place in the pipeline that it has come to."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__()
        self.slope, self.offset = tf.Variable(0.0), tf.Variable(0.0)
        self.batches = iter(batches(paths))
        self.checkpoint = tf.train.Checkpoint(
            slope=self.slope, offset=self.offset, batches=self.batches
        )

    @tf.function
    def step(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """One step of gradient descent; returns the loss before it."""
        with tf.GradientTape() as tape:
            error = self.slope * batch["x"] + self.offset - batch["y"]
            loss = tf.reduce_mean(tf.square(error))
        variables = (self.slope, self.offset)
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(RATE * gradient)
        return loss

    def train(self, steps: int | None = None) -> list[float]:
        """Takes so many steps, or all that are left, and returns their losses."""
        losses: list[float] = []
        while steps is None or len(losses) < steps:
            batch = next(self.batches, None)
            if batch is None:
                break
            losses.append(float(self.step(batch)))
        return losses


def main() -> None:
    """Trains without a stop, then with one, and compares."""
    with tempfile.TemporaryDirectory() as folder:
        paths = write_points(pathlib.Path(folder))
        whole = Run(paths).train()

        stopped = Run(paths)
        first = stopped.train(STOP)
        saved = stopped.checkpoint.write(str(pathlib.Path(folder) / "stopped"))
        resumed = Run(paths)
        resumed.checkpoint.read(saved).assert_consumed()
        rest = resumed.train()

    print(f"{len(whole)} steps, loss {whole[0]:.4f} -> {whole[-1]:.4f}")
    print(f"slope {float(resumed.slope):.3f}, offset {float(resumed.offset):.3f}")
    same = first + rest == whole
    print(f"stopped after {len(first)} steps; the same losses to the last bit: {same}")


if __name__ == "__main__":
    main()
