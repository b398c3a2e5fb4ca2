"""Methods of datasets that set their options, and tell them."""

from typing import TYPE_CHECKING

from penstock.core.tensor import EagerTensor
from penstock.data.base import DatasetBase
from penstock.data.operations import held
from penstock.data.options import Options
from penstock.data.options_dataset import OPTIONS, merged_options

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset


class OptionMethods(DatasetBase):
    """The methods of `Dataset` that have to do with options."""

    _own_options: Options | None = None

    def with_options(self, options: Options, name: str | None = None) -> "Dataset":
        """The same elements, made as options say.

        Options that were set before stay, but for those that are set again.

        Args:
          options: tf.data.Options.
          name: the operation's name in a graph.

        Raises:
          TypeError: it is something else.

        Example:
          >>> import penstock as tf
          >>> options = tf.data.Options()
          >>> options.deterministic = True
          >>> tf.data.Dataset.range(2).with_options(options).options().deterministic
          True
        """
        if not isinstance(options, Options):
            raise TypeError(
                f"with_options: expected tf.data.Options, got {options!r} of type"
                f" {type(options).__name__}. Make one with tf.data.Options()."
            )
        message = options._to_proto()
        attrs = {"serialized_options": message.SerializeToString(deterministic=True)}
        made = self._derived(OPTIONS, (self._variant_tensor,), self._structure, attrs, name)
        made._own_options = Options().merge(options)
        return made  # type: ignore[no-any-return]

    def options(self) -> Options:
        """The options of this dataset and of those that it is made of.

        Returns:
          tf.data.Options, to be read: setting one is an error.
        """
        variant = self._variant_tensor
        if isinstance(variant, EagerTensor):
            found = merged_options(held(variant._array))
        else:
            found = _options_in_graph(self)
        made = Options() if found is None else Options().merge(found)
        made._freeze()
        return made


def _options_in_graph(dataset: DatasetBase) -> Options | None:
    """What the datasets of a graph say, as far as they were made by methods."""
    found: Options | None = None
    own = getattr(dataset, "_own_options", None)
    for each in [*map(_options_in_graph, dataset._inputs()), own]:
        if each is not None:
            found = each if found is None else found.merge(each)
    return found
