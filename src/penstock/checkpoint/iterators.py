"""What a `Saver` saves of an iterator: where it is."""

from collections.abc import Sequence
from typing import Any

from penstock.checkpoint.saveables import SaveableObject, SaveSpec
from penstock.core.deprecation import deprecated
from penstock.core.execute import execute
from penstock.data.iterating import DESERIALIZE, SERIALIZE
from penstock.data.old_iterators import STATE_FROM_STRING, STATE_TO_STRING
from penstock.data.options import ExternalStatePolicy
from penstock.types import dtypes as dt

# Any: iterators and tensors are of several classes.


class IteratorSaveable(SaveableObject):
    """The position of an iterator.

    Args:
      resource: resource[], its handle.
      name: its name in the checkpoint.
      policy: what is done about states that functions keep elsewhere.
    """

    def __init__(self, resource: Any, name: str, policy: ExternalStatePolicy) -> None:
        self._resource = resource
        self._policy = policy
        spec = SaveSpec(self._state, "", f"{name}-state", dt.string, "/cpu:0")
        super().__init__(resource, [spec], name)

    def _state(self) -> Any:
        attrs = {"external_state_policy": self._policy.value}
        return execute(STATE_TO_STRING, (execute(SERIALIZE, (self._resource,), attrs),))

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Has the iterator go on from where it was.

        Args:
          restored_tensors: the bytes of its state.
          restored_shapes: not looked at.
        """
        data = execute(STATE_FROM_STRING, (restored_tensors[0],))
        return execute(DESERIALIZE, (self._resource, data))


@deprecated("Use `tf.train.Checkpoint`, outside of graphs.")
def make_saveable_from_iterator(iterator: Any, external_state_policy: Any = None) -> Any:
    """What a `tf.compat.v1.train.Saver` saves of an iterator.

    Add it to the collection `SAVEABLE_OBJECTS`, or give it to the Saver beside the variables. It is
    restored after the iterator's initializer has run.

    Args:
      iterator: a tf.compat.v1.data.Iterator.
      external_state_policy: "fail" (the default), "warn" or "ignore": what is done where functions
        keep a state elsewhere.

    Returns:
      A SaveableObject.

    Raises:
      ValueError: there is no such policy.

    Example:
      >>> import penstock as tf
      >>> v1 = tf.compat.v1
      >>> with tf.Graph().as_default():
      ...     iterator = v1.data.make_initializable_iterator(v1.data.Dataset.range(3))
      ...     saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
      ...     saver = v1.train.Saver([saveable])
    """
    policies = {"warn": "WARN", "ignore": "IGNORE", "fail": "FAIL"}
    wanted = "fail" if external_state_policy is None else external_state_policy
    if wanted not in policies:
        raise ValueError(
            "Invalid `external_state_policy`. Supported values include 'warn', 'ignore' and"
            f" 'fail' but got {external_state_policy}."
        )
    resource = iterator._iterator_resource
    name = getattr(resource, "name", "iterator").removesuffix(":0")
    return IteratorSaveable(resource, name, ExternalStatePolicy[policies[wanted]])
