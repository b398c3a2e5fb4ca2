"""The public names as TensorFlow's compat.v1 has them: `import penstock.compat.v1 as tf`."""

import sys

from penstock import namespace

namespace.install(sys.modules[__name__], "compat.v1")
