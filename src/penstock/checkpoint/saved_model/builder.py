"""`SavedModelBuilder`: graphs of a session with their variables, as a SavedModel."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from penstock import errors, proto
from penstock.checkpoint.meta_graph import export_meta_graph
from penstock.checkpoint.saved_model import constants as c
from penstock.checkpoint.saved_model import folder
from penstock.checkpoint.saved_model.gradients import keep_rules
from penstock.checkpoint.saved_model.signature_defs import check_tensor_info, predict_signature_def
from penstock.checkpoint.saver import Saver
from penstock.core import files
from penstock.graph.default_graph import get_default_graph
from penstock.graph.operation import Operation
from penstock.graph.static_values import constant_value
from penstock.ops.grouping import group
from penstock.ops.variables_v1 import (
    global_variables_initializer,
    local_variables_initializer,
    tables_initializer,
)

ASSET_TYPE = "type.googleapis.com/tensorflow.AssetFileDef"
_RESERVED = {
    c.INIT_OP_SIGNATURE_KEY: "initialization",
    c.TRAIN_OP_SIGNATURE_KEY: "the train step",
}


class SavedModelBuilder:
    """Builds a SavedModel of one or more graphs that share variables and assets.

    Args:
      export_dir: the folder, which must be empty or missing.

    Raises:
      AssertionError: the folder has something in it.

    Example:
      >>> import penstock as tf, tempfile
      >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
      ...     x = tf.compat.v1.placeholder(tf.float32, name="x")
      ...     v = tf.compat.v1.get_variable("v", initializer=2.0)
      ...     session.run(v.initializer)
      ...     with tempfile.TemporaryDirectory() as path:
      ...         builder = SavedModelBuilder(path)
      ...         builder.add_meta_graph_and_variables(session, ["serve"])
      ...         builder.save().endswith(b"saved_model.pb")
      True
    """

    def __init__(self, export_dir: Any) -> None:
        self._path = files.local_path(export_dir)
        if os.path.isdir(self._path) and os.listdir(self._path):
            raise AssertionError(
                f"Export directory {self._path} already exists, and isn't empty. Please choose a "
                "different export directory, or delete all the contents of the specified directory."
            )
        files.makedirs(self._path)
        self._message = proto.saved_model_pb2.SavedModel(
            saved_model_schema_version=c.SAVED_MODEL_SCHEMA_VERSION
        )
        self._has_saved_variables = False

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the graph of the default graph, and saves the session's variables. Comes first.

        Args:
          sess: the session.
          tags: by which the graph is loaded.
          signature_def_map: SignatureDefs by name.
          assets_collection: constant string tensors that hold paths of files.
          legacy_init_op: the old name of `main_op`.
          clear_devices: whether devices are left out.
          main_op: an operation that is run after loading.
          strip_default_attrs: whether attributes that have their default values are left out.
          saver: saves and restores the variables; one for all is made when None.

        Raises:
          AssertionError: variables were saved before, or a signature names nothing.
          TypeError: `main_op` is no operation.
          KeyError: a name of a signature is reserved.
        """
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        main = self._checked(signature_def_map, legacy_init_op, main_op)
        saver = saver or self._new_saver()
        prefix = folder.variables_path(self._path)
        files.makedirs(os.path.dirname(prefix))
        saver.save(sess, prefix, write_meta_graph=False, write_state=False)
        names = folder.AssetNames(self._path)
        assets = _assets(assets_collection, names)
        names.copy()
        self._add(tags, signature_def_map, assets, main, clear_devices, strip_default_attrs, saver)
        self._has_saved_variables = True

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the default graph as another one for the variables that were saved.

        Args: as for `add_meta_graph_and_variables`.

        Raises:
          AssertionError: variables were not saved before, or a signature names nothing.
        """
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        main = self._checked(signature_def_map, legacy_init_op, main_op)
        saver = saver or self._new_saver()
        names = folder.AssetNames(self._path)
        assets = _assets(assets_collection, names)
        names.copy()
        self._add(tags, signature_def_map, assets, main, clear_devices, strip_default_attrs, saver)

    def save(
        self,
        as_text: bool = False,
        experimental_image_format: bool = False,
        experimental_image_writer_options: Any = None,
    ) -> bytes:
        """Writes the model.

        Args:
          as_text: whether the file has the text form.
          experimental_image_format: must be false: a model is one message.
          experimental_image_writer_options: must be None.

        Returns:
          The path of the file.
        """
        if experimental_image_format or experimental_image_writer_options is not None:
            raise NotImplementedError(
                "SavedModelBuilder.save: expected experimental_image_format=False without options, "
                "got another. Leave them out."
            )
        folder.write_saved_model(self._path, self._message, as_text)
        name = c.SAVED_MODEL_FILENAME_PBTXT if as_text else c.SAVED_MODEL_FILENAME_PB
        return os.fsencode(os.path.join(self._path, name))

    def _new_saver(self) -> Saver:
        return Saver(sharded=True, allow_empty=True)

    def _checked(self, signatures: Mapping[str, Any] | None, legacy: Any, main_op: Any) -> Any:
        for key, signature in (signatures or {}).items():
            if key in _RESERVED:
                raise KeyError(
                    f'SignatureDef map key "{key}" is reserved for {_RESERVED[key]}. Please use a '
                    "different key."
                )
            for info in (*signature.inputs.values(), *signature.outputs.values()):
                check_tensor_info(info)
        main = main_op if main_op is not None else legacy
        if main is not None and not isinstance(main, Operation):
            raise TypeError(
                f"Expected {main} to be an Operation but got type {type(main)} instead."
            )
        return main

    def _add(
        self, tags: Iterable[str], signatures: Mapping[str, Any] | None, assets: dict[str, str],
        main: Any, clear_devices: bool, strip_default_attrs: bool, saver: Saver,
    ) -> None:  # fmt: skip
        keep_rules(get_default_graph())
        meta_graph = self._message.meta_graphs.add()
        exported = export_meta_graph(
            saver_def=saver.saver_def if saver.saver_def is not None else None,
            graph=get_default_graph(),
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
        )
        meta_graph.CopyFrom(exported)
        meta_graph.meta_info_def.tags.extend(tags)
        for key, signature in (signatures or {}).items():
            meta_graph.signature_def[key].ParseFromString(signature.SerializeToString())
        for tensor_name, filename in assets.items():
            found = proto.meta_graph_pb2.AssetFileDef(filename=filename)
            found.tensor_info.name = tensor_name
            meta_graph.collection_def[c.ASSETS_KEY].any_list.value.add(
                type_url=ASSET_TYPE, value=found.SerializeToString(deterministic=True)
            )
        if main is not None:
            nodes = meta_graph.collection_def[c.MAIN_OP_KEY].node_list
            nodes.value[:] = [main.name]


def _assets(collection: Any, names: folder.AssetNames) -> dict[str, str]:
    """The files of a collection: names of tensors -> names in the folder."""
    found = {}
    for tensor in collection or ():
        value = constant_value(tensor)
        if value is None or value.dtype != object or value.ndim or not value.item():
            raise ValueError(
                errors.located(
                    f"assets_collection, {tensor!r}", "a constant string scalar, the path of a "
                    "file", "no constant" if value is None else repr(value),
                    "Make it with tf.constant('path').",
                )
            )  # fmt: skip
        found[tensor.name] = names.add(os.fsdecode(value.item()))
    return found


def simple_save(
    session: Any,
    export_dir: Any,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Any = None,
) -> None:
    """Saves the default graph for predictions: one signature, "serving_default".

    Args:
      session: the session with the variables.
      export_dir: the folder, which must be empty or missing.
      inputs: tensors by name.
      outputs: likewise.
      legacy_init_op: an operation that is run after loading.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        [c.SERVING],
        {c.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=get_default_graph().get_collection("asset_filepaths"),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()


def main_op() -> Operation:
    """An operation that initializes variables, local variables and tables.

    Returns:
      The operation, for `main_op=` of the builder.
    """
    made: Operation = group(
        global_variables_initializer(), local_variables_initializer(), tables_initializer()
    )
    return made


def main_op_with_restore(restore_op_name: Any) -> Operation:
    """As `main_op`, with an operation that restores besides.

    Args:
      restore_op_name: the operation, or a tensor that it gives.
    """
    made: Operation = group(main_op(), restore_op_name)
    return made
