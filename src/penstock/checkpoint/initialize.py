"""Initial values from checkpoints: `init_from_checkpoint` and `warm_start`.

Variables of a graph get an initializer that reads the checkpoint, so that initializing them
restores them. Eager variables are assigned to at once.
"""

import collections
import re
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.checkpoint.readers import CheckpointReader, prefix_of
from penstock.checkpoint.vocabularies import remapped
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.graph.behavior import device, name_scope_v1
from penstock.graph.default_graph import get_default_graph
from penstock.ops.partitioned import PartitionedVariable
from penstock.ops.variables import Variable
from penstock.ops.variables_v1 import GraphKeys
from penstock.types import dims as d

VocabInfo = collections.namedtuple(
    "VocabInfo",
    [
        "new_vocab",
        "new_vocab_size",
        "num_oov_buckets",
        "old_vocab",
        "old_vocab_size",
        "backup_initializer",
        "axis",
    ],
    defaults=(-1, None, 0),
)


def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: Any) -> None:
    """Makes variables begin with the values that a checkpoint has.

    Args:
      ckpt_dir_or_file: a prefix, or a folder whose last checkpoint is taken.
      assignment_map: from names in the checkpoint to variables, lists of parts, names of variables,
        or from scopes to scopes ("old/": "new/"; "/" is everything). Or pairs of these.

    Raises:
      ValueError: the checkpoint or the graph does not have what the map names, or the shapes
        differ.
    """
    path = prefix_of(ckpt_dir_or_file)
    reader = CheckpointReader(path)
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    for name, target in sorted(pairs, key=lambda pair: str(pair[0])):
        for tensor_name, variables in _targets(reader, path, name, target):
            _check_shapes(reader, tensor_name, variables)
            for variable in variables:
                _set_initializer(path, reader, tensor_name, variable)


def _known_variables() -> dict[str, list[Any]]:
    """The variables of the graph by name, parts of one together."""
    found: dict[str, list[Any]] = {}
    for variable in get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES):
        info = variable._get_save_slice_info()
        name = variable._shared_name if info is None else info.full_name
        found.setdefault(name, []).append(variable)
    return found


def _targets(
    reader: CheckpointReader, path: str, name: str, target: Any
) -> list[tuple[str, list[Any]]]:
    if isinstance(target, Variable):
        return [(_present(reader, path, name), [target])]
    if isinstance(target, list | tuple | PartitionedVariable):
        return [(_present(reader, path, name), list(target))]
    if not isinstance(target, str):
        raise TypeError(
            f"assignment_map: expected a variable, a list of parts or a name for '{name}', got "
            f"{target!r} of type {type(target).__name__}."
        )
    known = _known_variables()
    if not target.endswith("/"):
        if target in known:
            return [(_present(reader, path, name), known[target])]
        raise ValueError(
            f"Assignment map with scope only name {target} should map to scope only {name}. "
            "Should be 'scope/': 'other_scope/'. There is no variable of that name either: "
            f"expected one of {sorted(known)}."
        )
    if not name.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {target} should map to scope only {name}. "
            "Should be 'scope/': 'other_scope/'."
        )
    scope, found = "" if target == "/" else target, []
    for variable_name, variables in sorted(known.items()):
        if variable_name.startswith(scope):
            rest = variable_name.removeprefix(scope)
            full = rest if name == "/" else name + rest
            if not reader.has_tensor(full):
                raise ValueError(
                    f"Tensor {full} ({rest} in {name}) is not found in {path} checkpoint"
                )
            found.append((full, variables))
    return found


def _present(reader: CheckpointReader, path: str, name: str) -> str:
    if not reader.has_tensor(name):
        raise ValueError(
            f"Tensor {name} is not found in {path} checkpoint {reader.get_variable_to_shape_map()}"
        )
    return name


def _check_shapes(reader: CheckpointReader, name: str, variables: Sequence[Any]) -> None:
    stored = tuple(reader.get_variable_to_shape_map()[name])
    for variable in variables:
        info = variable._get_save_slice_info()
        dims = variable.dims if info is None else tuple(info.full_shape)
        if not d.compatible(dims, stored):
            raise ValueError(
                f"Shape of variable {variable.name} ({d.text(dims)}) doesn't match with shape of "
                f"tensor {name} ({list(stored)}) from checkpoint reader."
            )


def _set_initializer(
    path: str, reader: CheckpointReader, name: str, variable: Any, vocabularies: Any = None
) -> None:
    info = variable._get_save_slice_info()
    spec = "" if info is None or vocabularies is not None else info.spec
    with device("cpu:0"), name_scope_v1("checkpoint_initializer"):
        (value,) = execute("RestoreV2", (path, [name], [spec]), {"dtypes": [variable.dtype]})
        if vocabularies is not None:
            if state.graph is not None:
                value.set_shape(reader.get_variable_to_shape_map()[name])
            value = remapped(value, name, variable, vocabularies)
        if state.graph is None:
            variable.assign(value)
            return
        value.set_shape(variable.shape)
    handle = variable.handle
    variable._initializer_op = execute(
        "AssignVariableOp", (handle, value), {"dtype": variable.dtype}
    )
    variable._initial_value = value


def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Any = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Makes variables of the graph begin with the values of a checkpoint, by names.

    Args:
      ckpt_to_initialize_from: a prefix, or a folder whose last checkpoint is taken.
      vars_to_warm_start: a regular expression for names of trainable variables, a list of them for
        all variables, or a list of variables; None for none.
      var_name_to_vocab_info: for names of variables a `VocabInfo`: matrices whose rows (or columns)
        belong to the entries of a vocabulary. Entries that the old one had keep their rows, others
        begin as `backup_initializer` says, zero by default.
      var_name_to_prev_var_name: names in the checkpoint, of variables that had others.

    Raises:
      ValueError: the checkpoint does not have a variable, or a name belongs to none that is
        started.
      NotFoundError: a vocabulary is missing.
      InvalidArgumentError: a vocabulary has too few entries, or the matrices do not fit.
    """
    before, vocabularies = var_name_to_prev_var_name or {}, var_name_to_vocab_info or {}
    chosen = _chosen(vars_to_warm_start)
    for argument, given in (
        ("var_name_to_prev_var_name", before),
        ("var_name_to_vocab_info", vocabularies),
    ):
        _refuse_unused(argument, given, chosen)
    path = prefix_of(ckpt_to_initialize_from)
    reader = CheckpointReader(path)
    for name, variables in chosen.items():
        old = before.get(name, name)
        if name not in vocabularies:
            init_from_checkpoint(path, {old: variables})
            continue
        for variable in variables:
            found = _present(reader, path, old)
            _set_initializer(path, reader, found, variable, vocabularies[name])


def _refuse_unused(argument: str, given: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    unused = sorted(set(given) - set(chosen))
    if unused:
        raise ValueError(
            f"You provided the following variables in {argument} that were not used: {unused}."
            f" Expected names among {sorted(chosen)}. Correct them, or start these variables too."
        )


def _chosen(wanted: Any) -> dict[str, list[Any]]:
    known, graph = _known_variables(), get_default_graph()
    if wanted is None:
        return {}
    if isinstance(wanted, str):
        trainable = {id(v) for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
        return {
            name: variables
            for name, variables in known.items()
            if id(variables[0]) in trainable and re.match(wanted, name)
        }
    found: dict[str, list[Any]] = {}
    for each in wanted:
        if isinstance(each, str):
            found |= {name: v for name, v in known.items() if re.match(each, name)}
        else:
            parts = list(each) if isinstance(each, PartitionedVariable) else [each]
            info = parts[0]._get_save_slice_info()
            found[parts[0]._shared_name if info is None else info.full_name] = parts
    return found
