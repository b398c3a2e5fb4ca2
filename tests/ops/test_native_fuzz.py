"""Native kernels on drawn shapes, strides and numbers, a few of each kind from fixed seeds.

    python -m tests.ops.test_native_fuzz 60 convolution     # others, for 60 seconds each

The kinds are those of `native_fuzz_sums` and `native_fuzz_rows`; a kind's name, or a part of it,
chooses them. A seed that failed gives the same draws again: `--seed`.
"""

import argparse
import itertools
import time
import traceback

import pytest
from tests.ops import native_fuzz_rows, native_fuzz_sums
from tests.ops.native_draws import Draw

from penstock.core import native

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels here")
CASES = {**native_fuzz_sums.CASES, **native_fuzz_rows.CASES}
SEEDS = 3
OF_DOT = ("product of bfloat16 and bytes", "convolution of bfloat16 and bytes")


@pytest.mark.parametrize("kind", CASES)
def test_drawn_calls(kind):
    if kind in OF_DOT and not native.dot_available():
        pytest.skip("no products of bfloat16 and bytes here")
    for seed in range(SEEDS):
        CASES[kind](Draw(seed))


def search(kind, seconds, first):
    """Tries seeds from `first` on for some seconds; says which failed."""
    end, failed = time.monotonic() + seconds, 0
    for seed in itertools.count(first):
        if time.monotonic() > end:
            break
        try:
            CASES[kind](Draw(seed))
        except Exception:
            failed += 1
            print(f"{kind}: seed {seed}\n{traceback.format_exc()}")
    print(f"{kind}: seeds {first} to {seed - 1}, {failed} failed", flush=True)
    return failed


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("kinds", nargs="*", default=[""])
    parser.add_argument("--seed", type=int, default=SEEDS)
    given = parser.parse_args()
    assert native.available()
    kinds = [kind for kind in CASES if any(part in kind for part in given.kinds)]
    failed = [search(kind, given.seconds, given.seed) for kind in kinds]
    raise SystemExit(any(failed))


if __name__ == "__main__":
    main()
