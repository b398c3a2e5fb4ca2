"""Writing the elements of a dataset to a file of records."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core.convert import convert_to_tensor
from penstock.core.deprecation import deprecated
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.record_files import TFRecordWriter as Writer
from penstock.core.shapes import no_output
from penstock.data.base import DatasetBase
from penstock.data.operations import HOST, held, text_of
from penstock.data.reading import compression_of
from penstock.data.stages import Array, elements
from penstock.data.whole import started
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec
from penstock.util import nest


def _to_records(name: str) -> OpDef:
    return define_op(
        f"{name}(input_dataset: variant, filename: string, compression_type: string) -> ()",
        shape=no_output,
        stateful=True,
        fallible=True,
        doc="Writes the elements of a dataset, strings, to a file of records.",
    ).not_differentiable("it has no outputs")


TO_TFRECORD = _to_records("DatasetToTFRecord")
OLD_TO_TFRECORD = _to_records("ExperimentalDatasetToTFRecord")


@host_kernel(TO_TFRECORD, limit=HOST, reentrant=True)
@host_kernel(OLD_TO_TFRECORD, limit=HOST, reentrant=True)
def _write(
    ctx: KernelContext, input_dataset: Array, filename: Array, compression_type: Array
) -> None:
    description = held(input_dataset)
    if description.types != (dt.string,):
        raise errors.InvalidArgumentError(
            None,
            None,
            "DatasetToTFRecord: expected a dataset of one string each, got elements of types"
            f" {[t.name for t in description.types]}. Serialize them with map.",
        )
    compression = compression_of("DatasetToTFRecord", compression_type)
    with Writer(text_of(filename), compression) as writer:
        with started(description, ctx) as (stage, _):
            for (value,) in elements(stage):
                found: Any = np.asarray(value, object).reshape(-1)
                for record in found:
                    writer.write(record)


class TFRecordWriter:
    """Writes the elements of a dataset to a file of records.

    Args:
      filename: string[], the file, which is made anew.
      compression_type: "", "ZLIB" or "GZIP".

    Example:
      >>> import os, tempfile
      >>> import penstock as tf
      >>> path = os.path.join(tempfile.mkdtemp(), "some.tfrecord")
      >>> dataset = tf.data.Dataset.from_tensor_slices(["one", "two"])
      >>> tf.data.experimental.TFRecordWriter(path).write(dataset)
      >>> list(tf.data.TFRecordDataset(path).as_numpy_iterator())
      [b'one', b'two']
    """

    @deprecated("Use `tf.io.TFRecordWriter`, or `tf.data.Dataset.save`.")
    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename = convert_to_tensor(filename, dt.string)
        self._compression_type = convert_to_tensor(compression_type or "", dt.string)

    def write(self, dataset: Any) -> Any:
        """Writes all elements.

        Args:
          dataset: of string[].

        Returns:
          In a graph the operation that writes; else None.

        Raises:
          TypeError: it is no such dataset.
          OpError: a subclass: the file cannot be written.
        """
        if not isinstance(dataset, DatasetBase):
            raise TypeError(
                "Invalid `dataset.` Expected a `tf.data.Dataset` object but got"
                f" {type(dataset)}. Make one with `Dataset.from_tensor_slices`."
            )
        spec: Any = dataset.element_spec
        if not (
            isinstance(spec, TensorSpec) and spec.is_compatible_with(TensorSpec([], dt.string))
        ):
            shapes = [getattr(s, "shape", None) for s in nest.flatten(spec)]
            types = [getattr(s, "dtype", s) for s in nest.flatten(spec)]
            raise TypeError(
                "Invalid `dataset`. Expected a `dataset` that produces scalar `tf.string` elements,"
                f" but got one which produces elements with shapes {shapes} and types {types}."
                " Serialize them with `map`."
            )
        given = (dataset._variant_tensor, self._filename, self._compression_type)
        return execute(TO_TFRECORD, given)
