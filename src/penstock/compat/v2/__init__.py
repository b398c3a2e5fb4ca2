"""The public names as TensorFlow's compat.v2 has them: `import penstock.compat.v2 as tf`."""

import sys

from penstock import namespace

namespace.install(sys.modules[__name__], "compat.v2")
