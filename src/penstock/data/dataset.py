"""`tf.data.Dataset`: a description of elements, and what can be done with it.

A dataset is a variant tensor, which an operation made, and the structure of its elements. The
methods come in families, each in a module of its own: a class that `Dataset` inherits from.
"""

from penstock.data import autographing
from penstock.data.base import DatasetBase, DatasetSpec, install_class
from penstock.data.iterator import NumpyIterator, OwnedIterator
from penstock.data.methods_basic import BasicMethods
from penstock.data.methods_choosing import ChoosingMethods
from penstock.data.methods_files import FileMethods
from penstock.data.methods_generator import GeneratorMethods
from penstock.data.methods_grouping import GroupingMethods
from penstock.data.methods_looping import LoopingMethods
from penstock.data.methods_options import OptionMethods
from penstock.data.methods_ordering import OrderingMethods
from penstock.data.methods_saving import SavingMethods
from penstock.data.methods_sources import SourceMethods
from penstock.data.methods_stacking import StackingMethods

# Any: elements are of whatever structure the dataset has.


class Dataset(
    BasicMethods,
    ChoosingMethods,
    FileMethods,
    GeneratorMethods,
    GroupingMethods,
    LoopingMethods,
    OptionMethods,
    OrderingMethods,
    SavingMethods,
    SourceMethods,
    StackingMethods,
):
    """A sequence of elements, each a structure of tensors, that may be too long for memory.

    A dataset is immutable: a method makes another dataset of it, and each iterator begins at the
    first element.

    Example:
      >>> import penstock as tf
      >>> dataset = tf.data.Dataset.range(5).map(lambda x: x * x).batch(2)
      >>> [batch.numpy().tolist() for batch in dataset]
      [[0, 1], [4, 9], [16]]
    """


install_class(Dataset)
autographing.install()
__all__ = ["Dataset", "DatasetBase", "DatasetSpec", "NumpyIterator", "OwnedIterator"]
