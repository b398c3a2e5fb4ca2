"""What XLA's options do to compilation and running time of three kinds of work, in plain JAX.

    python benchmarks/compiler_options.py

Prints for each option set the seconds to compile and the median and least milliseconds to run. The
choice in `penstock.core.compiling` follows from this table.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

OPTIONS: dict[str, dict[str, Any]] = {
    "XLA's own": {},
    "level 1": {"xla_backend_optimization_level": 1},
    "512 bits": {"xla_cpu_prefer_vector_width": 512},
    "level 1, 512 bits": {"xla_backend_optimization_level": 1, "xla_cpu_prefer_vector_width": 512},
}
RUNS = 30


def work() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """(name, function, arguments) of each kind of work."""
    rng = np.random.default_rng(0)

    def floats(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    def chain(x: Any) -> Any:
        for _ in range(1000):
            x = jnp.tanh(x * 1.01 + 0.1)
        return x

    def layers(x: Any, a: Any, b: Any) -> Any:
        loss = lambda a, b: jnp.square(jax.nn.relu(x @ a) @ b).mean()  # noqa: E731
        return jax.grad(loss, (0, 1))(a, b)

    def convolutions(x: Any, k: Any) -> Any:
        def loss(k: Any) -> Any:
            h = x
            for _ in range(4):
                h = jax.nn.relu(
                    lax.conv_general_dilated(
                        h, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
                    )
                )
            return h.mean()

        return jax.grad(loss)(k)

    yield "element-wise", chain, (floats(100),)
    yield "products", layers, (floats(128, 784), floats(784, 512), floats(512, 512))
    yield "convolutions", convolutions, (floats(8, 32, 32, 64), floats(3, 3, 64, 64) * 0.05)


def main() -> None:
    """Prints the table."""
    print(f"{'work':14}{'options':20}{'compile s':>10}{'median ms':>11}{'min ms':>9}")
    for name, function, arguments in work():
        for title, options in OPTIONS.items():
            start = time.perf_counter()
            compiled = jax.jit(function, compiler_options=options).lower(*arguments).compile()
            seconds = time.perf_counter() - start
            samples = []
            for _ in range(RUNS):
                start = time.perf_counter()
                jax.block_until_ready(compiled(*arguments))
                samples.append((time.perf_counter() - start) * 1e3)
            print(
                f"{name:14}{title:20}{seconds:10.2f}{np.median(samples):11.3f}{min(samples):9.3f}"
            )


if __name__ == "__main__":
    main()
