"""What `tf.version` and `tf.sysconfig` say about this build.

The version is this distribution's own; the GraphDef versions are those of the graphs it writes and
reads, TensorFlow 2.21's. There is no compiled part: no header, library or flag to build against.
"""

import collections
from typing import Any

from penstock.version import __version__

VERSION = __version__
GIT_VERSION = f"v{__version__}"
COMPILER_VERSION = "none"
CXX11_ABI_FLAG = 1
CXX_VERSION = 0
MONOLITHIC_BUILD = 0
GRAPH_DEF_VERSION = 2474
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0


def get_build_info() -> "collections.OrderedDict[str, Any]":
    """The build as a dictionary: devices are those of the installed JAX, found at run time."""
    return collections.OrderedDict(
        is_cuda_build=False, is_rocm_build=False, is_tensorrt_build=False
    )
