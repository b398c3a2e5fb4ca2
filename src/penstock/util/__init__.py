"""Lists, trees and names: helpers that know nothing of tensors.

Modules: `nest` (nested structures, with `nest_paths` for shallow structures and paths), `toposort`
(topological order), `names` (valid and unique names) and `frames` (lines of the user's program).
"""

from penstock.util import frames, names, nest, nest_paths, toposort

__all__ = ["frames", "names", "nest", "nest_paths", "toposort"]
