"""Lists and subscripts of converted code."""

from typing import Any, NamedTuple


class ListPopOpts(NamedTuple):
    """What is known of the elements of a list."""

    element_dtype: Any
    element_shape: Any


class ListStackOpts(NamedTuple):
    """What is known of the elements of a list, and the function that the user called on it."""

    element_dtype: Any
    original_call: Any


class GetItemOpts(NamedTuple):
    """What is known of the elements of a list."""

    element_dtype: Any


def new_list(iterable: Any = None) -> list[Any]:
    """`[...]`."""
    return list(iterable or ())


def list_append(target: Any, element: Any) -> Any:
    """`target.append(element)`; returns what the name of the list then stands for."""
    target.append(element)
    return target


def list_pop(target: Any, index: Any, opts: ListPopOpts) -> tuple[Any, Any]:
    """`target.pop(index)`: the list, and the element."""
    element = target.pop() if index is None else target.pop(index)
    return target, element


def list_stack(target: Any, opts: ListStackOpts) -> Any:
    """`something.stack(target)`."""
    return opts.original_call(target)


def get_item(target: Any, index: Any, opts: GetItemOpts) -> Any:
    """`target[index]`."""
    return target[index]


def set_item(target: Any, index: Any, value: Any) -> Any:
    """`target[index] = value`; returns what the name of `target` then stands for."""
    target[index] = value
    return target


OPERATORS = {
    "GetItemOpts": GetItemOpts,
    "ListPopOpts": ListPopOpts,
    "ListStackOpts": ListStackOpts,
    "get_item": get_item,
    "list_append": list_append,
    "list_pop": list_pop,
    "list_stack": list_stack,
    "new_list": new_list,
    "set_item": set_item,
}
