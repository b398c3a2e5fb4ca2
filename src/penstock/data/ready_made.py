"""Whole pipelines for files of Examples and CSV files: reading, shuffling, batching, parsing."""

import collections
import csv
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.core import files
from penstock.core.byte_files import COMPRESSIONS, open_text
from penstock.core.convert import convert_to_tensor
from penstock.core.deprecation import deprecated
from penstock.data.mapping import AUTOTUNE
from penstock.data.readers import CsvDataset, TFRecordDataset
from penstock.data.turns import in_turns
from penstock.ops.parse_functions import parse_example
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset

Columns = Sequence[Any]
_KINDS = (dt.int32, dt.int64, dt.float32, dt.float64, dt.string)  # the first that fits is taken
_SMALLEST = {dt.int32: 2**31, dt.int64: 2**63}
_LARGEST_FLOAT32 = 3.4028235e38


@deprecated("Use `tf.data.Dataset.map` with `tf.io.parse_example`.")
def parse_example_dataset(
    features: Mapping[str, Any] | None,
    num_parallel_calls: Any = 1,
    deterministic: bool | None = None,
) -> Callable[[Any], Any]:
    """A function for `tf.data.Dataset.apply` that parses vectors of serialised Examples.

    Args:
      features: key -> feature, as for `tf.io.parse_example`.
      num_parallel_calls: int64[], how many vectors are parsed at once.
      deterministic: whether results come in order; None leaves it to the options.

    Returns:
      A function of a dataset of string[N], that returns a dataset of dictionaries.

    Raises:
      ValueError: there are no features.
      TypeError: when it is applied: the dataset has other elements.

    Example:
      >>> import penstock as tf
      >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
      >>> example = tf.train.Example(features=tf.train.Features(feature={"x": feature}))
      >>> dataset = tf.data.Dataset.from_tensors([example.SerializeToString()])
      >>> parse = tf.data.experimental.parse_example_dataset(
      ...     {"x": tf.io.FixedLenFeature([], tf.int64)})
      >>> [found["x"].numpy().tolist() for found in parse(dataset)]
      [[7]]
    """
    return _parsing(features, num_parallel_calls, deterministic)


def _parsing(
    features: Mapping[str, Any] | None, calls: Any, deterministic: bool | None = None
) -> Callable[[Any], Any]:
    """See `parse_example_dataset`."""
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")
    wanted = dict(features)

    def apply(dataset: Any) -> Any:
        spec: Any = dataset.element_spec
        if not (isinstance(spec, TensorSpec) and spec.is_compatible_with(_VECTOR)):
            raise TypeError(
                "Input dataset should be a dataset of vectors of strings. Instead it is"
                f" `{spec}`. Batch it, or leave out other components with map."
            )
        return dataset.map(lambda texts: parse_example(texts, wanted), calls, deterministic)

    return apply


_VECTOR = TensorSpec([None], dt.string)


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: Any,
    features: Mapping[str, Any],
    reader: Callable[..., Any] | None = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: Any = None,
    shuffle: bool = True,
    shuffle_buffer_size: Any = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: Any = None,
    reader_num_threads: Any = None,
    parser_num_threads: Any = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> "Dataset":
    """Batches of the features of Examples in files.

    Args:
      file_pattern: string[] or string[N]; see `tf.io.gfile.glob`.
      batch_size: int64[], how many Examples are in a batch.
      features: key -> feature, as for `tf.io.parse_example`.
      reader: makes a dataset of strings, or of pairs whose second part they are, of a file;
        `tf.data.TFRecordDataset` by default.
      label_key: the feature that becomes the second part of a pair.
      reader_args: more arguments of `reader`.
      num_epochs: int64[], how many times the files are read; None for ever.
      shuffle: whether files and Examples are shuffled.
      shuffle_buffer_size: int64[], how many Examples one is drawn from.
      shuffle_seed: of the order.
      prefetch_buffer_size: int64[], how many batches are made ahead; None leaves it to Penstock.
      reader_num_threads: int64[], how many files are read at once; 1 by default.
      parser_num_threads: int64[], how many batches are parsed at once; 2 by default.
      sloppy_ordering: accepted for compatibility: Examples come in order.
      drop_final_batch: whether a last batch of fewer is left out.

    Returns:
      A dataset of dictionaries, or of pairs of a dictionary and a label.

    Raises:
      ValueError: `label_key` is no feature.
    """
    if label_key is not None and label_key not in features:
        raise ValueError(
            f"The `label_key` provided ({label_key}) must be one of the `features` keys:"
            f" {features.keys()}."
        )
    read = TFRecordDataset if reader is None else reader
    names = _names(file_pattern, shuffle, shuffle_seed)
    dataset = in_turns(
        names, lambda file: read(file, *(reader_args or ())), reader_num_threads or 1
    )
    if isinstance(dataset.element_spec, tuple):
        dataset = dataset.map(lambda _, value: value)
    dataset = _ordered(dataset, shuffle, shuffle_buffer_size, shuffle_seed, num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    parse = _parsing(features, parser_num_threads or 2)
    dataset = parse(dataset)
    if label_key is not None:
        dataset = dataset.map(lambda row: _with_label(dict(row), label_key))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)  # type: ignore[no-any-return]


def _with_label(row: Any, label: str) -> Any:
    found = row.pop(label)
    return row, found


def _names(pattern: Any, shuffle: bool, seed: int | None) -> Any:
    return TFRecordDataset.list_files(pattern, shuffle=shuffle, seed=seed)


def _ordered(dataset: Any, shuffle: bool, size: Any, seed: int | None, epochs: Any) -> Any:
    if shuffle:
        dataset = dataset.shuffle(size, seed)
    return dataset if epochs == 1 else dataset.repeat(epochs)


# ---- CSV files


def make_csv_dataset(
    file_pattern: Any,
    batch_size: Any,
    column_names: Sequence[str] | None = None,
    column_defaults: Columns | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: Any = None,
    shuffle: bool = True,
    shuffle_buffer_size: Any = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: Any = None,
    num_parallel_reads: Any = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> "Dataset":
    """Batches of the columns of CSV files.

    Args:
      file_pattern: the files, or patterns; see `tf.io.gfile.glob`.
      batch_size: how many records are in a batch.
      column_names: of all columns; those of the header by default.
      column_defaults: for each column that is wanted a dtype, where it is required, or a default;
        by default what fits the first records.
      label_name: the column that becomes the second part of a pair.
      select_columns: names or numbers of the columns that are wanted; all by default.
      field_delim: the character between fields.
      use_quote_delim: whether quotes around fields are no part of them.
      na_value: what stands for a missing field, beside nothing.
      header: whether files begin with the names of the columns.
      num_epochs: how many times the files are read; None for ever.
      shuffle: whether files and records are shuffled.
      shuffle_buffer_size: how many records one is drawn from.
      shuffle_seed: of the order.
      prefetch_buffer_size: how many batches are made ahead; None leaves it to Penstock.
      num_parallel_reads: how many files are read at once; 1 by default.
      sloppy: accepted for compatibility: records come in order.
      num_rows_for_inference: how many records are looked at for dtypes; None for all.
      compression_type: "", "ZLIB" or "GZIP".
      ignore_errors: whether records that do not fit are left out.
      encoding: of the files, as far as they are looked at.

    Returns:
      A dataset of OrderedDicts from names to tensors [batch], or of pairs of one and a label.

    Raises:
      ValueError: no file matches, names do not fit, or dtypes cannot be told.
    """
    paths = _matching(file_pattern, shuffle, shuffle_seed)
    form = _Form(field_delim, use_quote_delim, header, compression_type, encoding)
    names = _column_names(paths, form, column_names)
    chosen = _selected(select_columns, names)
    if column_defaults is None:
        column_defaults = form.kinds(paths, names, chosen, na_value, num_rows_for_inference)
    wanted = names if chosen is None else [names[i] for i in chosen]
    defaults = _defaults_of(wanted, column_defaults, label_name)

    def read(path: Any) -> Any:
        return CsvDataset(
            path, defaults, compression_type, header=header, field_delim=field_delim,
            use_quote_delim=use_quote_delim, na_value=na_value, select_cols=chosen,
        )  # fmt: skip

    def named(*columns: Any) -> Any:
        row = collections.OrderedDict(zip(wanted, columns, strict=True))
        return row if label_name is None else _with_label(row, label_name)

    found: Any = TFRecordDataset.from_tensor_slices(paths)
    if shuffle:
        found = found.shuffle(len(paths), shuffle_seed)
    dataset = in_turns(found, read, num_parallel_reads or 1)
    if ignore_errors:
        dataset = dataset.ignore_errors()
    dataset = _ordered(dataset, shuffle, shuffle_buffer_size, shuffle_seed, num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)  # type: ignore[no-any-return]


def _defaults_of(wanted: Sequence[str], given: Columns, label: str | None) -> Columns:
    """A dtype or a default, a tensor, for each column that is wanted; the label is one of these."""
    if len(given) != len(wanted):
        raise ValueError(
            f"make_csv_dataset: expected a default for each of the columns {wanted}, got"
            f" {len(given)}. Name those that are wanted in `select_columns`."
        )
    if label is not None and label not in wanted:
        raise ValueError(
            f"`label_name` provided must be one of the columns: {wanted}. Received: {label}."
        )
    return [
        c if isinstance(c, dt.DType) else convert_to_tensor([c] if _is_plain(c) else c)
        for c in given
    ]


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, bytes, int, float))


def _matching(pattern: Any, shuffle: bool, seed: int | None) -> list[str]:
    patterns = list(pattern) if isinstance(pattern, (list, tuple)) else [pattern]
    found = [path for each in patterns for path in files.glob(each)]
    if not found:
        raise ValueError(f"No files match `file_pattern` {pattern}.")
    return sorted(found)


class _Form:
    """How files are written, for those who look at them."""

    def __init__(
        self, delimiter: str, quotes: bool, header: bool, compression: str | None, encoding: str
    ) -> None:
        self.quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
        self.delimiter, self.header = delimiter, header
        self.compression, self.encoding = compression, encoding

    def records(self, path: str) -> Any:
        """The records of a file, its header included."""
        # CsvDataset says what is wrong with another compression.
        compression = self.compression if self.compression in COMPRESSIONS else ""
        with open_text(path, compression, self.encoding) as text:
            yield from csv.reader(text, delimiter=self.delimiter, quoting=self.quoting)

    def kinds(
        self, paths: Sequence[str], names: Sequence[str], chosen: Sequence[int] | None,
        missing: str, most: int | None,
    ) -> Columns:  # fmt: skip
        """For each column that is wanted a default of the dtype that its first values have."""
        columns = range(len(names)) if chosen is None else chosen
        found: list[int | None] = [None for _ in columns]
        count = 0
        for path in paths:
            records = self.records(path)
            if self.header:
                next(records, None)
            for row, record in enumerate(records):
                if most is not None and count >= most:
                    break
                count += 1
                if len(record) != len(names):
                    raise ValueError(
                        f"Problem inferring types: CSV row {row + 1 + self.header} has"
                        f" {len(record)} number of fields. Expected: {len(names)}."
                    )
                for i, column in enumerate(columns):
                    found[i] = _least_kind(record[column], found[i], missing)
        chosen_kinds = [dt.string if n is None else _KINDS[n] for n in found]
        return [convert_to_tensor([b"" if k == dt.string else 0], k) for k in chosen_kinds]


def _least_kind(text: str, before: int | None, missing: str) -> int | None:
    """The number of the first dtype that fits a value, and those before it."""
    if text in ("", missing):
        return before
    first = 0 if before is None else before
    return next(n for n in range(first, len(_KINDS)) if _fits(text, _KINDS[n]))


def _fits(text: str, kind: dt.DType) -> bool:
    if kind == dt.string:
        return True
    try:
        if kind in _SMALLEST:
            return -_SMALLEST[kind] <= int(text) < _SMALLEST[kind]
        value = float(text)
    except ValueError:
        return False
    return kind == dt.float64 or not abs(value) > _LARGEST_FLOAT32 or value in (_INF, -_INF)


_INF = float("inf")


def _column_names(paths: Sequence[str], form: _Form, given: Sequence[str] | None) -> list[str]:
    if given is None:
        if not form.header:
            raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
        names: list[str] = next(form.records(paths[0]), [])
        for path in paths[1:]:
            if next(form.records(path), []) != names:
                raise ValueError(
                    "All input CSV files should have the same column names in the header row. File"
                    f" {path} has different column names."
                )
    else:
        names = list(given)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(
            "Either `column_names` argument or CSV header row contains duplicate column names:"
            f" {twice}."
        )
    return names


def _selected(columns: Sequence[Any] | None, names: Sequence[str]) -> list[int] | None:
    """The numbers of the columns that are wanted, in order."""
    if columns is None:
        return None
    found = []
    for each in columns:
        if isinstance(each, str):
            if each not in names:
                raise ValueError(
                    f"Column {each} specified in `select_columns` must be of one of the columns:"
                    f" {list(names)}."
                )
            found.append(names.index(each))
        elif not 0 <= each < len(names):
            raise ValueError(
                f"Column index {each} specified in `select_columns` should be > 0 and <"
                f" {len(names)}, the number of columns."
            )
        else:
            found.append(int(each))
    if len(set(found)) != len(found):
        raise ValueError(f"Each column can only be specified once: {list(columns)}.")
    return sorted(found)
