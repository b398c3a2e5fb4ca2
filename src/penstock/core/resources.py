"""State that outlives a step.

A `ResourceManager` owns a task's (or session's) resources by container and name. A `ResourceHandle`
is the value of a tensor of dtype resource. A `VariableCell` holds a variable's current array and
decides who may take its buffer.

Buffers. A compiled region that updates a variable may take the array by donation, after which the
old array is gone. That is allowed only when the cell is the array's sole holder (`donatable`):
values read from the variable carry the cell's `Lease` as long as they live, and a value that came
from outside is never given away. NumPy and DLPack views need no lease: JAX copies instead of
updating in place while such a view lives. Some rows of an array that the host has are updated where
they are when nothing else refers to the array (`holds_alone`), as Python counts references.
"""

import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.context import LOCAL_TASK
from penstock.core.lazy import jax, jnp, wide_types
from penstock.core.leases import Lease
from penstock.types.device_spec import DeviceSpecV2
from penstock.types.dims import Dims, text
from penstock.types.dtypes import DType


class VariableCell:
    """A variable's state: dtype, static shape, array. Its lock guards take, run, put back."""

    __slots__ = (
        "__weakref__",
        "_lease",
        "_owned",
        "dims",
        "dtype",
        "free",
        "lock",
        "name",
        "value",
    )

    def __init__(self, name: str, dtype: DType, dims: Dims) -> None:
        self.name = name
        self.dtype = dtype
        self.dims = dims
        self.value: Any = None  # any: numpy.ndarray or jax.Array; None before initialization
        self.lock = threading.RLock()  # guards: value, free, _lease, _owned
        self.free = False  # nothing has leased the array, which is ours alone: surely donatable
        self._lease: weakref.ref[Lease] | None = None
        self._owned = False

    def read(self) -> Any:
        """The current array.

        Raises:
          FailedPreconditionError: the variable has no value.
        """
        value = self.value
        if value is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"Could not find variable {self.name}. This could mean that the variable has been "
                "deleted or was never initialized. Run its initializer "
                "(global_variables_initializer, or assign a value) first.",
            )
        return value

    def write(self, value: Any, fresh: bool = False) -> None:
        """Replaces the array.

        A device array that somebody else may hold is copied: another variable could own it and
        give its buffer away. So is a view of one, which would turn updates of its owner into
        copies.

        Args:
          value: the new array.
          fresh: nobody else holds it, so its buffer may be donated later.
        """
        if value.__class__ is np.ndarray:
            if not value.flags.writeable:
                value = value.copy()
        elif not fresh and hasattr(type(value), "addressable_shards"):
            value, fresh = owned_copy(value), True
        with self.lock:
            self._recall()
            self.value = value
            self._lease = None
            self._owned = self.free = fresh

    def clear(self) -> None:
        """Makes the variable uninitialized."""
        self.write(None)

    def lease(self) -> Lease:
        """A token that keeps the current array from being donated while the token lives.

        Not the one that a snapshot keeps, where nobody uses it: that is on other arrays too.
        """
        with self.lock:
            self.free = False
            self._recall()
            lease = self._lease() if self._lease is not None else None
            if lease is None:
                lease = Lease()
                self._lease = weakref.ref(lease)
            return lease

    def borrow(self) -> tuple[Any, Lease]:
        """The current array (None without one), and a lease on it."""
        with self.lock:
            return self.value, self.lease()

    def take(self) -> Any:
        """The current array, to be given to a region that overwrites it; the lock is held.

        A copy where somebody else holds it; None without one.
        """
        value = self.value
        if self.free:
            return value
        self._recall()  # those who found no array, too
        return value if value is None or self.donatable else owned_copy(value)

    def _recall(self) -> None:
        """Takes the array back from those who only keep it for the next reader."""
        lease = None if self._lease is None else self._lease()
        if lease is not None:
            lease.recall()

    @property
    def donatable(self) -> bool:
        """Whether the current array may be given to a region that overwrites it.

        Asking empties the snapshots that have it.
        """
        if not self._owned or self.value.__class__ is np.ndarray:
            return False
        self._recall()
        return self._lease is None or self._lease() is None

    def holds_alone(self) -> bool:
        """Whether the array is the host's and nothing else has it, or a view of it.

        The lock is held, and so it stays until the caller has written to the array. A caller that
        has the array in a variable of its own holds it too.
        """
        if sys.getrefcount(self.value) != _OWN_REFERENCES or self.value.__class__ is not np.ndarray:
            return False
        if self._lease is not None:
            self._recall()
            if self._lease() is not None:
                return False
        if self.value.base is None:
            return self.value.flags.owndata
        # of an array with elements from a place on; views of a view refer to the whole
        whole = self.value.base.__class__ is np.ndarray and self.value.base.base is None
        return whole and sys.getrefcount(self.value.base) == _OWN_REFERENCES

    @property
    def initialized(self) -> bool:
        """Whether the variable has a value."""
        return self.value is not None

    def __repr__(self) -> str:
        return f"<VariableCell {self.name} {self.dtype.name}{text(self.dims)}>"


class _Alone:
    """Stands for a cell whose array nothing else has."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = np.empty(1)

    def holders(self) -> int:
        """How many references Python counts, that of this question among them."""
        return sys.getrefcount(self.value)


_OWN_REFERENCES = _Alone().holders()


def owned_copy(value: Any) -> Any:
    """An array that may be donated, in place of one that somebody else holds."""
    with wide_types():
        if value.__class__ is np.ndarray:  # `jnp.array` would copy it twice, compiled by shape
            return jax.device_put(value, may_alias=False)
        return jnp.array(value, copy=True)


def lease_all(cells: Iterable[VariableCell]) -> list[Lease]:
    """Leases on the current arrays of variables, whose locks the caller holds.

    Those that nobody has leased share one, so four hundred cost little more than one: who takes
    that lease from a cell while it lives holds on to the arrays of the others too.
    """
    shared = Lease()
    reference = weakref.ref(shared)
    leases = [shared]
    for cell in cells:
        cell.free = False
        known = cell._lease
        lease = None if known is None else known()
        if lease is None:
            cell._lease = reference
        elif lease is not shared:
            leases.append(lease)
    return leases


class ResourceHandle:
    """The value of a resource tensor: names a resource and refers to it."""

    __slots__ = ("__weakref__", "container", "device", "name", "resource")

    def __init__(self, container: str, name: str, resource: Any, device: str = "") -> None:
        self.container = container
        self.name = name
        self.resource = resource
        self.device = device

    def __repr__(self) -> str:
        return (
            f"<ResourceHandle(name={self.name!r}, container={self.container!r},"
            f" type={type(self.resource).__name__})>"
        )


def variables_of(handles: Sequence[ResourceHandle]) -> list[VariableCell]:
    """The variables that handles refer to.

    Raises:
      InvalidArgumentError: one refers to another resource.
    """
    cells = [handle.resource for handle in handles]
    for handle, cell in zip(handles, cells, strict=True):
        if cell.__class__ is not VariableCell:
            raise errors.InvalidArgumentError(
                None,
                None,
                "Trying to access a handle's resource using the wrong type: expected a variable, "
                f"got {handle!r}. Pass the handle of a tf.Variable.",
            )
    return cells


OWN = "own resources"  # the key in a session's state: a manager, where others share the task's


class ResourceManager:
    """Resources of a task by container and name. Thread-safe.

    Attributes:
      task: the task's name. Its job is the container of what names none.
    """

    def __init__(self, task: str = LOCAL_TASK) -> None:
        self.task = task
        self._default_container = DeviceSpecV2.from_string(task).job or ""
        # guards: _resources, generation. Finalizers delete, while this thread may hold it.
        self._lock = threading.RLock()
        self._resources: dict[tuple[str, str], Any] = {}
        self.generation = 0  # grows when resources are removed, so that plans know to bind again

    def lookup_or_create(
        self, container: str, name: str, kind: type, create: Callable[[], Any]
    ) -> Any:
        """The resource of that name, created when there is none.

        Raises:
          InvalidArgumentError: a resource of another kind has the name.
        """
        key = (container or self._default_container, name)
        with self._lock:
            found = self._resources.get(key)
            if found is None:
                found = self._resources[key] = create()
        if not isinstance(found, kind):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Trying to access resource {name} of container {key[0]}: expected "
                f"{kind.__name__}, found {type(found).__name__}. Give one of them another name.",
            )
        return found

    def lookup(self, container: str, name: str) -> Any:
        """The resource of that name, or None."""
        return self._resources.get((container or self._default_container, name))

    def delete(self, container: str, name: str) -> bool:
        """Removes a resource; False when there was none."""
        key = (container or self._default_container, name)
        with self._lock:
            self.generation += 1
            return self._resources.pop(key, None) is not None

    def clear(self, containers: list[str] | None = None) -> None:
        """Removes all resources of the containers, of every container when none are named."""
        with self._lock:
            self.generation += 1
            gone = [k for k in list(self._resources) if containers is None or k[0] in containers]
            removed = [self._resources.pop(key, None) for key in gone]
        for resource in removed:
            close = getattr(resource, "close", None) or getattr(resource, "clear", None)
            if close is not None:
                close()

    def items(self) -> list[tuple[tuple[str, str], Any]]:
        """A snapshot of ((container, name), resource)."""
        with self._lock:
            return list(self._resources.items())


eager_resources = ResourceManager()  # those of eager operations and of functions
