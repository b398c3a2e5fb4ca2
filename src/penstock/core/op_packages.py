"""Packages of operations, found through entry points.

A package that defines operations names its module in its own `pyproject.toml`:

    [project.entry-points."penstock.operations"]
    anything = "my_package.operations"

The module is imported when a name is looked up that nothing else has registered: an operation of a
GraphDef that is read, or `tf.raw_ops.Name`. Importing it registers its operations.
"""

from importlib.metadata import EntryPoint, entry_points

GROUP = "penstock.operations"


def load_packages() -> None:
    """Imports every module that is named under the entry points' group.

    Raises:
      ImportError: one of them cannot be imported; it names the package.
    """
    for entry in entry_points(group=GROUP):
        _load(entry)


def _load(entry: EntryPoint) -> None:
    try:
        entry.load()
    except Exception as problem:
        package = entry.dist.name if entry.dist is not None else "unknown"
        raise ImportError(
            f"package {package!r}: expected its entry point {entry.name!r} of {GROUP} to be a "
            f"module of operations, but importing {entry.value!r} failed: "
            f"{type(problem).__name__}: {problem}. Mend or uninstall the package."
        ) from problem
