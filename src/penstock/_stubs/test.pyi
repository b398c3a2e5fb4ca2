# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.testing.benchmark import Benchmark as Benchmark
from penstock.testing.test_case import TestCase as TestCase
from penstock.testing.helpers import assert_equal_graph_def as assert_equal_graph_def
from penstock.testing.benchmark import benchmark_config as benchmark_config
from penstock.testing.gradient_check import compute_gradient as compute_gradient
from penstock.testing.helpers import disable_with_predicate as disable_with_predicate
from penstock.runtime.device_config import gpu_device_name as gpu_device_name
from penstock.runtime.device_config import is_built_with_cuda as is_built_with_cuda
from penstock.testing.helpers import is_built_with_gpu_support as is_built_with_gpu_support
from penstock.testing.helpers import is_built_with_rocm as is_built_with_rocm
from penstock.testing.helpers import is_built_with_xla as is_built_with_xla
from penstock.testing.helpers import is_cpu_target_available as is_cpu_target_available
from penstock.runtime.device_config import is_gpu_available as is_gpu_available
from penstock.testing.helpers import main as main
from penstock.testing.helpers import with_eager_op_as_function as with_eager_op_as_function
from penstock._stubs import test_experimental as experimental
