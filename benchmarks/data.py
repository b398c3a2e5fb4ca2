"""Input pipelines: what an element, a batch, a record and an iterator cost.

    python benchmarks/data.py                     # penstock
    python benchmarks/data.py --json data.json
    OTHER/bin/python benchmarks/data.py --module tensorflow
    OTHER/bin/python benchmarks/data.py --module torch

The same cases run on each; PyTorch has those that a DataLoader without workers can do. Each line is
the best of some rounds, in microseconds for each of what is named. Nothing is asserted but that the
elements are the right ones.
"""

import argparse
import importlib
import json
import os
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ELEMENTS = 20_000
RECORDS = 5_000
ROUNDS = 3


def best(function: Callable[[], Any], count: int) -> float:
    """Microseconds for each of `count` things, in the best round."""
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return min(found) / count * 1e6


def element_cases(tf: Any) -> dict[str, Callable[[], float]]:
    """Cases of numbers in memory."""
    numbers = tf.data.Dataset.range(ELEMENTS)
    total = ELEMENTS * (ELEMENTS - 1)

    def single(dataset: Any) -> float:
        def run() -> None:
            assert sum(int(x) for x in dataset) == total

        return best(run, ELEMENTS)

    def batches(dataset: Any) -> float:
        def run() -> None:
            assert sum(int(x.numpy().sum()) for x in dataset) == total

        return best(run, ELEMENTS)

    double = lambda x: x * 2  # noqa: E731
    rows = tf.data.Dataset.from_tensor_slices(np.arange(ELEMENTS)[:, None] * np.ones(8, np.int64))
    return {
        "element": lambda: single(numbers.concatenate(numbers)),
        "element, map": lambda: single(numbers.map(double)),
        "element, map, batch": lambda: batches(numbers.map(double).batch(128)),
        "element, parallel map, batch, prefetch": lambda: batches(
            numbers.map(double, num_parallel_calls=2).batch(128).prefetch(2)
        ),
        "element, batch, map": lambda: batches(numbers.batch(128).map(double)),
        "element, map, filter, batch": lambda: batches(
            numbers.map(double).filter(lambda x: x >= 0).batch(128)
        ),
        "element, zip, map, batch": lambda: batches(
            tf.data.Dataset.zip((numbers, numbers)).map(lambda x, y: x + y).batch(128)
        ),
        "element, repeat, shuffle, batch": lambda: batches(
            numbers.repeat(2).shuffle(1000).batch(128)
        ),
        "element, map to the largest of 8, batch": lambda: batches(
            rows.map(lambda x: tf.reduce_max(x) * 2).batch(128)
        ),
    }


def run_cases(tf: Any) -> dict[str, Callable[[], float]]:
    """Cases of iterators and states."""
    dataset = tf.data.Dataset.range(100).map(lambda x: x + 1).batch(4).prefetch(2)

    def iterators() -> None:
        for _ in range(100):
            next(iter(dataset))

    return {"iterator with its first element": lambda: best(iterators, 100)}


def record_cases(tf: Any, folder: pathlib.Path) -> dict[str, Callable[[], float]]:
    """Cases of files of Examples."""
    path = str(folder / "examples.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(RECORDS):
            feature = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i + 0.5] * 64)),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
                "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a" * (i % 64)])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    spec = {
        "x": tf.io.FixedLenFeature([64], tf.float32),
        "y": tf.io.FixedLenFeature([], tf.int64),
        "s": tf.io.FixedLenFeature([], tf.string),
    }
    records = tf.data.TFRecordDataset(path)
    each = records.map(lambda r: tf.io.parse_single_example(r, spec), num_parallel_calls=2)
    whole = records.batch(128).map(lambda r: tf.io.parse_example(r, spec), num_parallel_calls=2)

    def read() -> None:
        assert sum(len(batch.numpy()) for batch in records.batch(128)) == RECORDS

    def parse(dataset: Any) -> Callable[[], None]:
        def run() -> None:
            found = sum(int(e["y"].numpy().sum()) for e in dataset.prefetch(2))
            assert found == RECORDS * (RECORDS - 1) // 2

        return run

    return {
        "record, batch": lambda: best(read, RECORDS),
        "record, parse, batch": lambda: best(parse(each.batch(128)), RECORDS),
        "record, batch, parse": lambda: best(parse(whole), RECORDS),
    }


def torch_cases(torch: Any) -> dict[str, Callable[[], float]]:
    """The cases that a DataLoader without workers does."""
    loader = torch.utils.data.DataLoader

    class Doubled(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return ELEMENTS

        def __getitem__(self, i: int) -> Any:
            return torch.tensor(i) * 2

    def single() -> None:
        assert sum(int(x) for x in loader(Doubled(), batch_size=None)) == ELEMENTS * (ELEMENTS - 1)

    def batches() -> None:
        found = sum(int(x.sum()) for x in loader(Doubled(), batch_size=128))
        assert found == ELEMENTS * (ELEMENTS - 1)

    return {
        "element, map": lambda: best(single, ELEMENTS),
        "element, map, batch": lambda: best(batches, ELEMENTS),
    }


def main() -> None:
    """Runs the cases and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", default="penstock")
    parser.add_argument("--json", type=pathlib.Path, help="also write every figure to this file")
    args = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    module = importlib.import_module(args.module)
    rows: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        if args.module == "torch":
            importlib.import_module("torch.utils.data")
            cases = torch_cases(module)
        else:
            records = record_cases(module, pathlib.Path(folder))
            cases = {**element_cases(module), **run_cases(module), **records}
        for name, case in cases.items():
            rows[name] = case()
            print(f"{name:45}{rows[name]:12.2f} us", flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
