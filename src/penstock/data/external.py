"""What a dataset keeps elsewhere than in its iterators: variables, generators, Python functions.

A saved state does not have it, so whoever saves says what is to be done: `ExternalStatePolicy`.
"""

from collections.abc import Iterator

from penstock import errors
from penstock.config import logging
from penstock.data.operations import Mapped
from penstock.data.options import ExternalStatePolicy
from penstock.data.stages import Description

# They have an effect, or read what nobody changes: nothing that a state would have to hold.
_HARMLESS = frozenset(
    "Assert PrintV2 Print LookupTableFind LookupTableFindV2 LookupTableSize LookupTableSizeV2"
    " HashTableV2 AnonymousHashTable IteratorGetNext ReduceDataset DatasetToSingleElement"
    " AnonymousIteratorV3 MakeIterator".split()
)
_PARTS = ("Dataset", "SeedGenerator", "MemoryCache")  # of datasets that functions make


def stateful_operations(description: Description) -> Iterator[str]:
    """The names of operations that keep a state elsewhere, in a dataset's functions."""
    for function in _functions(description):
        yield from _stateful(function)
    for each in description.inputs:
        yield from stateful_operations(each)


def _functions(description: Description) -> Iterator[Mapped]:
    for kind in type(description).__mro__:
        for slot in vars(kind).get("__slots__", ()):
            value = getattr(description, slot, None)
            if isinstance(value, Mapped):
                yield value


def _stateful(function: Mapped) -> Iterator[str]:
    for op in function.body.graph.get_operations():
        harmless = op.type in _HARMLESS or any(part in op.type for part in _PARTS)
        if op.op_def.stateful and op.type != "Placeholder" and not harmless:
            yield op.type


def check_external(description: Description, policy: ExternalStatePolicy, who: str) -> None:
    """Says, or refuses, that a state is saved without what is kept elsewhere.

    Args:
      description: the dataset.
      policy: whether it is said, refused or passed over.
      who: what saves, for the message.

    Raises:
      FailedPreconditionError: the policy is FAIL, and there is such a state.
    """
    if policy is ExternalStatePolicy.IGNORE:
        return
    for name in stateful_operations(description):
        text = (
            f"{who}: {name} is stateful: expected functions whose state is that of the iterator,"
            f" got one that keeps some elsewhere, which is not saved with it. Save that beside the"
            " iterator, and set experimental_external_state_policy to WARN or IGNORE."
        )
        if policy is ExternalStatePolicy.FAIL:
            raise errors.FailedPreconditionError(None, None, text)
        logging.warning("%s", text)
        return
