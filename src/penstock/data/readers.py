"""`TFRecordDataset`, `TextLineDataset`, `FixedLengthRecordDataset`: datasets of what is in files.

Files are named by a string, a list, a tensor or a dataset of strings. Those of a tensor are read
one after the other by one operation; several at once, or those that a dataset names, are datasets
of one file each, put together by `interleave` and `flat_map`.
"""

import os
from collections.abc import Callable
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.data.base import DatasetBase
from penstock.data.csv_records import CSV_V2
from penstock.data.dataset import Dataset
from penstock.data.pool import processors
from penstock.data.reading import FIXED_LENGTH_V2, TEXT_LINE, TFRECORD
from penstock.data.sql_rows import SQL
from penstock.data.structure import Structure, map_leaves
from penstock.data.turns import in_turns
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec

STRING = TensorSpec((), dt.string)
_BUFFER = 256 * 1024  # bytes
AUTOTUNE = -1


def as_filenames(filenames: Any) -> Any:
    """Files as strings: a tensor, or a dataset of scalars.

    Args:
      filenames: paths or strings, one or a list; a tensor; or a dataset.

    Raises:
      TypeError: they are something else.
    """
    if isinstance(filenames, DatasetBase):
        spec: Any = filenames.element_spec
        if not isinstance(spec, TensorSpec) or spec.dtype != dt.string:
            got = f"`{spec.dtype!r}`" if isinstance(spec, TensorSpec) else f"{spec}"
            raise TypeError(
                "The `filenames` argument must contain `tf.string` elements. Got a dataset of"
                f" {got} elements. Map them to strings."
            )
        if not spec.shape.is_compatible_with(()):
            raise TypeError(
                "The `filenames` argument must contain `tf.string` elements of shape [] (i.e."
                f" scalars). Got a dataset of element shape {spec.shape!r}. Unbatch it."
            )
        return filenames
    found = convert_to_tensor(_as_text(filenames))
    if found.dtype == dt.float32 and found.shape.num_elements() == 0:
        found = convert_to_tensor([], dt.string)  # an empty list says no dtype
    if found.dtype != dt.string:
        raise TypeError(
            "The `filenames` argument must contain `tf.string` elements. Got"
            f" `{found.dtype!r}` elements. Give paths."
        )
    return found


def _as_text(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return [_as_text(v) for v in value] if isinstance(value, (list, tuple)) else value


def read(
    one: Callable[[Any], Any],
    filenames: Any,
    num_parallel_reads: Any,
    name: str | None,
) -> tuple[Any, list[Any]]:
    """The variant of a dataset of files, and the datasets that it takes elements from.

    Args:
      one: makes the variant for a tensor of files.
      filenames: what the user gave.
      num_parallel_reads: how many files are read at once; None for one.
      name: the operation's name in a graph.
    """
    found = as_filenames(filenames)
    if num_parallel_reads is None and isinstance(found, Tensor):
        flat = found if found.shape.rank in (0, 1) else _flat(found)
        return one(flat), []
    if isinstance(found, Tensor):
        found = Dataset.from_tensor_slices(_flat(found))

    def each(file: Any) -> Any:
        return Dataset(one(file), Structure(STRING))

    if num_parallel_reads is None:
        made = found.flat_map(each, name=name)
    else:
        automatic = isinstance(num_parallel_reads, int) and num_parallel_reads == AUTOTUNE
        cycle = processors() if automatic else num_parallel_reads
        made = in_turns(found, each, cycle, name)
    return made._variant_tensor, [found]


def _flat(found: Tensor) -> Tensor:
    flat: Tensor = execute("Reshape", (found, convert_to_tensor([-1], dt.int32)), {})
    return flat


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


class TFRecordDataset(Dataset):
    """The records of TFRecord files, as strings.

    Checksums are compared: a damaged or cut file is a DataLossError that names the file and the
    place. The next element is then the first of the next file.

    Args:
      filenames: string[] or string[N], the files; or a dataset of string[].
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: int64[], accepted for compatibility.
      num_parallel_reads: int64[], how many files are read at once: their records alternate.
        None for one file after the other, `tf.data.AUTOTUNE` to leave it to Penstock.
      name: the operation's name in a graph.

    Raises:
      TypeError: `filenames` are no strings.

    Example:
      >>> import os, tempfile
      >>> import penstock as tf
      >>> path = os.path.join(tempfile.mkdtemp(), "some.tfrecord")
      >>> with tf.io.TFRecordWriter(path) as writer:
      ...     for record in (b"one", b"two"):
      ...         writer.write(record)
      >>> list(tf.data.TFRecordDataset(path).as_numpy_iterator())
      [b'one', b'two']
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        kind = convert_to_tensor(_or(compression_type, ""), dt.string)
        size = convert_to_tensor(_or(buffer_size, _BUFFER), dt.int64)

        def one(files: Any) -> Any:
            return execute(TFRECORD, (files, kind, size), None, name)

        variant, inputs = read(one, filenames, num_parallel_reads, name)
        super().__init__(variant, Structure(STRING), inputs)


class TextLineDataset(Dataset):
    r"""The lines of text files, as strings without the characters that end them.

    Args:
      filenames: string[] or string[N], the files; or a dataset of string[].
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: int64[], how many bytes are read at a time; None or 0 leave it to Penstock.
      num_parallel_reads: int64[], how many files are read at once; see `TFRecordDataset`.
      name: the operation's name in a graph.

    Raises:
      TypeError: `filenames` are no strings.
      InvalidArgumentError: there is no such compression.

    Example:
      >>> import os, tempfile
      >>> import penstock as tf
      >>> path = os.path.join(tempfile.mkdtemp(), "some.txt")
      >>> with open(path, "w") as file:
      ...     _ = file.write("one\ntwo\n")
      >>> list(tf.data.TextLineDataset(path).as_numpy_iterator())
      [b'one', b'two']
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        kind = convert_to_tensor(_or(compression_type, ""), dt.string)
        size = convert_to_tensor(_or(buffer_size, _BUFFER), dt.int64)

        def one(files: Any) -> Any:
            return execute(TEXT_LINE, (files, kind, size), None, name)

        variant, inputs = read(one, filenames, num_parallel_reads, name)
        super().__init__(variant, Structure(STRING), inputs)


class FixedLengthRecordDataset(Dataset):
    """The records of files, which all have the same number of bytes.

    Args:
      filenames: string[] or string[N], the files; or a dataset of string[].
      record_bytes: int64[], the number of bytes of a record.
      header_bytes: int64[], how many bytes are left out at the beginning of each file.
      footer_bytes: int64[], how many are left out at its end.
      buffer_size: int64[], how many bytes are read at a time; None or 0 leave it to Penstock.
      compression_type: "", "ZLIB" or "GZIP".
      num_parallel_reads: int64[], how many files are read at once; see `TFRecordDataset`.
      name: the operation's name in a graph.

    Raises:
      TypeError: `filenames` are no strings.
      InvalidArgumentError: a number is too small; or, while it runs, a file is not made of such
        records.

    Example:
      >>> import os, tempfile
      >>> import penstock as tf
      >>> path = os.path.join(tempfile.mkdtemp(), "some.bin")
      >>> with open(path, "wb") as file:
      ...     _ = file.write(b"#abcdef")
      >>> dataset = tf.data.FixedLengthRecordDataset(path, 3, header_bytes=1)
      >>> list(dataset.as_numpy_iterator())
      [b'abc', b'def']
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        given = (
            _or(header_bytes, 0),
            record_bytes,
            _or(footer_bytes, 0),
            _or(buffer_size, _BUFFER),
        )
        sizes = [convert_to_tensor(n, dt.int64) for n in given]
        kind = convert_to_tensor(_or(compression_type, ""), dt.string)

        def one(files: Any) -> Any:
            return execute(FIXED_LENGTH_V2, (files, *sizes, kind), None, name)

        variant, inputs = read(one, filenames, num_parallel_reads, name)
        super().__init__(variant, Structure(STRING), inputs)


class CsvDataset(Dataset):
    r"""The records of CSV files, each a tuple of its fields.

    Args:
      filenames: string[] or string[N], the files.
      record_defaults: for each field a dtype, where it is required; or a tensor of rank 1 with its
        default, whose dtype it has.
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: int64[], how many bytes are read at a time; 4 MiB by default.
      header: bool[], whether the first record of each file is left out.
      field_delim: string[], the character between fields.
      use_quote_delim: bool[], whether quotes around fields are no part of them.
      na_value: string[], what stands for a missing field, beside nothing.
      select_cols: the numbers of the fields that are wanted, in order; all by default.
      exclude_cols: the numbers of those that are not.

    Raises:
      InvalidArgumentError: an argument does not fit; or, while it runs, a record.

    Example:
      >>> import os, tempfile
      >>> import penstock as tf
      >>> path = os.path.join(tempfile.mkdtemp(), "some.csv")
      >>> with open(path, "w") as file:
      ...     _ = file.write("1,one\n2,\n")
      >>> dataset = tf.data.experimental.CsvDataset(path, [tf.int32, ["none"]])
      >>> [(int(n), s.numpy()) for n, s in dataset]
      [(1, b'one'), (2, b'none')]
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        header: Any = False,
        field_delim: Any = ",",
        use_quote_delim: Any = True,
        na_value: Any = "",
        select_cols: Any = None,
        exclude_cols: Any = None,
    ) -> None:
        defaults = [_default(each) for each in record_defaults]
        given = (
            convert_to_tensor(_as_text(filenames), dt.string),
            convert_to_tensor(_or(compression_type, ""), dt.string),
            convert_to_tensor(_or(buffer_size, _CSV_BUFFER), dt.int64),
            convert_to_tensor(header, dt.bool_),
            convert_to_tensor(field_delim, dt.string),
            convert_to_tensor(use_quote_delim, dt.bool_),
            convert_to_tensor(na_value, dt.string),
            convert_to_tensor(_or(select_cols, []), dt.int64),
            defaults,
            convert_to_tensor(_or(exclude_cols, []), dt.int64),
        )
        structure = Structure(tuple(TensorSpec((), each.dtype) for each in defaults))
        attrs = {"output_shapes": structure.shapes}
        super().__init__(execute(CSV_V2, given, attrs), structure)


_CSV_TYPES = (dt.float32, dt.float64, dt.int32, dt.int64, dt.string)
_CSV_BUFFER = 4 * 1024 * 1024  # bytes


def _default(value: Any) -> Tensor:
    found: Tensor = (
        convert_to_tensor([], value) if isinstance(value, dt.DType) else convert_to_tensor(value)
    )
    if found.dtype not in _CSV_TYPES:
        raise ValueError(
            f"CsvDataset: expected defaults of {[t.name for t in _CSV_TYPES]}, got {found.dtype!r}."
            " Cast with map."
        )
    return found


class SqlDataset(Dataset):
    """The rows that a query gives.

    Args:
      driver_name: string[], "sqlite".
      data_source_name: string[], the file of the database.
      query: string[], the query.
      output_types: a structure of dtypes, of the columns: string, integers up to int64, bool or
        float64.

    Raises:
      InvalidArgumentError: there is no such driver, or the dtypes do not fit.

    Example:
      >>> import os, sqlite3, tempfile
      >>> import penstock as tf
      >>> path = os.path.join(tempfile.mkdtemp(), "some.db")
      >>> base = sqlite3.connect(path)
      >>> _ = base.execute("create table names (name text, age integer)")
      >>> _ = base.execute("insert into names values ('Ada', 36)")
      >>> base.commit(); base.close()
      >>> query = "select name, age from names"
      >>> rows = tf.data.experimental.SqlDataset("sqlite", path, query, (tf.string, tf.int32))
      >>> [(s.numpy(), int(n)) for s, n in rows]
      [(b'Ada', 36)]
    """

    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any
    ) -> None:
        given = (driver_name, data_source_name, query)
        inputs = tuple(convert_to_tensor(_as_text(each), dt.string) for each in given)
        structure = Structure(map_leaves(lambda t: TensorSpec((), dt.as_dtype(t)), output_types))
        super().__init__(execute(SQL, inputs, structure.attrs), structure)
