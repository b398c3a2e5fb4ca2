"""Loading a SavedModel into a session, and changing the methods of its signatures."""

import os
from collections.abc import Iterable
from typing import Any

from penstock import errors, proto
from penstock.checkpoint.restore_graph import import_meta_graph
from penstock.checkpoint.saved_model import constants as c
from penstock.checkpoint.saved_model import folder
from penstock.checkpoint.saved_model.signature_defs import op_from_tensor_info
from penstock.checkpoint.saver import Saver
from penstock.core import files


def find_meta_graph(saved_model: Any, tags: Iterable[str]) -> Any:
    """The graph of a SavedModel that has just these tags.

    Raises:
      RuntimeError: there is none.
    """
    wanted = {tags} if isinstance(tags, str) else set(tags)
    known = []
    for meta_graph in saved_model.meta_graphs:
        found = set(meta_graph.meta_info_def.tags)
        if found == wanted:
            return meta_graph
        known.append(sorted(found))
    raise RuntimeError(
        f"MetaGraphDef associated with tags {sorted(wanted)} could not be found in SavedModel, "
        f"with available tags {known}. `penstock inspect FOLDER` shows what it has."
    )


def load(
    sess: Any, tags: Iterable[str], export_dir: Any, import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:  # fmt: skip
    """Adds a graph of a SavedModel to a session's graph, and restores its variables.

    Args:
      sess: the session.
      tags: the tags of the graph.
      export_dir: the folder.
      import_scope: a name scope that is put before all names.
      **saver_kwargs: accepted for compatibility: the saver is the one that was saved.

    Returns:
      The MetaGraphDef.

    Raises:
      RuntimeError: there is no graph with just these tags.
      OSError: the folder has no model, or one that cannot be parsed.
      DataLossError: the values of variables are damaged.
    """
    path = files.local_path(export_dir)
    message, _ = folder.read_saved_model(path)
    meta_graph = find_meta_graph(message, tags)
    load_graph(sess, meta_graph, path, False, import_scope, **saver_kwargs)
    return meta_graph


def load_graph(
    sess: Any,
    meta_graph: Any,
    path: str,
    skip_values: bool = False,
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> None:
    """Adds a graph to a session's graph, restores its variables, and initializes the rest.

    Args:
      sess: the session.
      meta_graph: the MetaGraphDef.
      path: the folder of the model.
      skip_values: whether variables are left without values.
      import_scope: a name scope that is put before all names.
      **saver_kwargs: for `import_meta_graph`.
    """
    feeds = asset_feeds(meta_graph, path, import_scope)
    with sess.graph.as_default():
        saver = import_meta_graph(meta_graph, import_scope=import_scope, **saver_kwargs)
        prefix = folder.variables_path(path)
        if isinstance(saver, Saver) and os.path.exists(f"{prefix}.index") and not skip_values:
            saver.restore(sess, prefix)
        initializer = init_operation(meta_graph, sess.graph, import_scope)
        if initializer is not None:
            sess.run(initializer, feed_dict=feeds)


def asset_feeds(meta_graph: Any, path: str, import_scope: str | None = None) -> dict[str, str]:
    """The paths of the assets by the names of the tensors that stand for them.

    Raises:
      ValueError: an asset is not in the folder, or not described.
    """
    prefix = f"{import_scope}/" if import_scope else ""
    found = {}
    for asset in assets_of(meta_graph, path):
        name = asset.tensor_info.name
        found[f"{prefix}{name}"] = folder.asset_path(path, asset.filename)
    return found


def assets_of(meta_graph: Any, path: str) -> list[Any]:
    """The AssetFileDef messages of a graph."""
    if meta_graph.asset_file_def:
        return list(meta_graph.asset_file_def)
    found = []
    if c.ASSETS_KEY in meta_graph.collection_def:
        for value in meta_graph.collection_def[c.ASSETS_KEY].any_list.value:
            message = proto.meta_graph_pb2.AssetFileDef()
            try:
                message.ParseFromString(value.value)
            except proto.message.DecodeError as problem:
                raise ValueError(
                    errors.located(
                        f"SavedModel {path}, collection '{c.ASSETS_KEY}'", "AssetFileDefs",
                        str(problem), "The model is damaged; save it again.",
                    )
                ) from None  # fmt: skip
            found.append(message)
    return found


def init_operation(meta_graph: Any, graph: Any, import_scope: str | None = None) -> Any:
    """The operation that is run after loading, or None."""
    signatures = meta_graph.signature_def
    if c.INIT_OP_SIGNATURE_KEY in signatures:
        outputs = signatures[c.INIT_OP_SIGNATURE_KEY].outputs
        if c.INIT_OP_SIGNATURE_KEY in outputs:
            return op_from_tensor_info(outputs[c.INIT_OP_SIGNATURE_KEY], graph, import_scope)
    for key in (c.MAIN_OP_KEY, c.LEGACY_INIT_OP_KEY):
        if key not in meta_graph.collection_def:
            continue
        names = meta_graph.collection_def[key].node_list.value
        if len(names) != 1:
            raise RuntimeError(
                f"Expected exactly one SavedModel init op in '{key}'. Found {len(names)}: "
                f"{list(names)}. Save the model with one main_op."
            )
        prefix = f"{import_scope}/" if import_scope else ""
        return graph.get_operation_by_name(prefix + names[0])
    return None


class MethodNameUpdater:
    """Changes what kind of call the signatures of a SavedModel are.

    Args:
      export_dir: the folder of the model.

    Raises:
      OSError: the folder has no model.
    """

    def __init__(self, export_dir: Any) -> None:
        self._path = files.local_path(export_dir)
        self._message, _ = folder.read_saved_model(self._path)

    def replace_method_name(
        self, signature_key: str, method_name: str, tags: Iterable[str] | None = None
    ) -> None:
        """Gives a signature another method.

        Args:
          signature_key: the name of the signature.
          method_name: the method.
          tags: the tags of the graph; all graphs when None.

        Raises:
          ValueError: a graph of these tags has no such signature, or an argument is empty.
        """
        if not signature_key:
            raise ValueError("`signature_key` must be defined.")
        if not method_name:
            raise ValueError("`method_name` must be defined.")
        wanted = None if tags is None else {tags} if isinstance(tags, str) else set(tags)
        chosen = [
            meta_graph
            for meta_graph in self._message.meta_graphs
            if wanted is None or wanted == set(meta_graph.meta_info_def.tags)
        ]
        if not chosen or not all(signature_key in each.signature_def for each in chosen):
            raise ValueError(
                f"MetaGraphDef associated with tags {tags} does not have a signature_def with key: "
                f"'{signature_key}'. This means either you specified the wrong signature key or "
                "forgot to put the signature_def with the corresponding key in your SavedModel."
            )
        for each in chosen:
            each.signature_def[signature_key].method_name = method_name

    def save(self, new_export_dir: Any = None) -> None:
        """Writes the model.

        Args:
          new_export_dir: another folder, which gets the message alone; the same one when None.
        """
        target = self._path if new_export_dir is None else files.local_path(new_export_dir)
        as_text = not os.path.isfile(os.path.join(self._path, c.SAVED_MODEL_FILENAME_PB))
        folder.write_saved_model(target, self._message, as_text)
