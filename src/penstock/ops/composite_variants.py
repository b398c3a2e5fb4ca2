"""Several tensors as one variant: the components of a composite tensor, or of a data set's element.

A composite tensor's variant carries which class of `TypeSpec` it was made of, and comes apart only
as that class. A compressed element's comes apart as its components whatever their shapes: that what
is asked for fits them is checked by dtype alone, as in TensorFlow.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core import shapes
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
_HOST = 1 << 62  # variants are host values
_WHY = "components of any dtype go in and out; none is computed with"


class Components:
    """What such a variant holds: arrays with their dtypes, and what they are of. Immutable."""

    __slots__ = ("arrays", "dtypes", "kind")

    def __init__(self, arrays: Sequence[Array], dtypes: Sequence[DType], kind: str | None) -> None:
        self.arrays = tuple(arrays)
        self.dtypes = tuple(dtypes)
        self.kind = kind  # the class of a composite tensor's TypeSpec; None: a compressed element

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return sum(int(np.asarray(a).nbytes) for a in self.arrays)

    def __repr__(self) -> str:
        name = "CompressedElement" if self.kind is None else f"CompositeTensorVariant {self.kind}"
        return f"<{name}: {', '.join(t.name for t in self.dtypes)}>"


def _item(value: Any) -> Any:
    """The variant in a scalar, or in a tensor of one."""
    if not isinstance(value, np.ndarray):
        return value
    return value.reshape(-1)[0] if value.size == 1 else value


def _refused(sentence: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, sentence)


def _spec_class(metadata: bytes | str) -> str:
    """The name of the class of TypeSpec that serialised metadata is of."""
    metadata = metadata.encode() if isinstance(metadata, str) else metadata
    found = proto.composite_tensor_variant_pb2.CompositeTensorVariantMetadata()
    try:
        found.ParseFromString(metadata)
    except proto.message.DecodeError:
        raise _refused(
            "Error parsing metadata: expected a serialised CompositeTensorVariantMetadata, got "
            f"{metadata[:40]!r}. Leave it empty, or serialise the message."
        ) from None
    spec = found.type_spec_proto
    return str(spec.TypeSpecClass.Name(spec.type_spec_class))


FROM_COMPONENTS = define_op(
    "CompositeTensorVariantFromComponents(components: [Tcomponents]; metadata: string, "
    "Tcomponents: list(type) >= 0) -> encoded: variant",
    shape=shapes.scalar,
    fallible=True,
    doc="The components of a composite tensor as one variant.",
).without_gradient(_WHY)


@host_kernel(FROM_COMPONENTS, limit=_HOST)
def _from_components(
    components: list[Array], *, metadata: Any, Tcomponents: Sequence[DType]
) -> Any:
    return Components(components, Tcomponents, _spec_class(metadata))


TO_COMPONENTS = define_op(
    "CompositeTensorVariantToComponents(encoded: variant; metadata: string, "
    "Tcomponents: list(type) >= 0) -> components: [Tcomponents]",
    shape=lambda c: [None] * len(c.attr("Tcomponents")),
    fallible=True,
    doc="The components of the composite tensor that a variant holds.",
).without_gradient(_WHY)


@host_kernel(TO_COMPONENTS, limit=_HOST)
def _to_components(encoded: Any, *, metadata: Any, Tcomponents: Sequence[DType]) -> list[Array]:
    held, wanted = _item(encoded), _spec_class(metadata)
    if not isinstance(held, Components) or held.kind is None:
        raise _refused(
            f"The input `encoded` is not a valid CompositeTensorVariant object: expected one made "
            f"by CompositeTensorVariantFromComponents, got {held!r}."
        )
    if held.kind != wanted:
        raise _refused(
            f"Expected a {wanted} (based on `type_spec`), but `encoded` contains a {held.kind}. "
            "Give the metadata that it was made with."
        )
    if len(held.arrays) != len(Tcomponents):
        raise _refused(
            f"Encoded value has {len(held.arrays)} tensor components; expected "
            f"{len(Tcomponents)} components based on type_spec."
        )
    for i, (found, dtype) in enumerate(zip(held.dtypes, Tcomponents, strict=True)):
        if found is not dtype:
            raise _refused(
                f"Tensor component {i} had dtype {found.name}; expected dtype {dtype.name}. "
                "Give the dtypes that were encoded."
            )
    return list(held.arrays)


COMPRESS = define_op(
    "CompressElement(components: [input_types]; input_types: list(type) >= 1) -> "
    "compressed: variant",
    shape=shapes.scalar,
    doc="The components of an element as one variant.",
).without_gradient(_WHY)


@host_kernel(COMPRESS, limit=_HOST)
def _compress(components: list[Array], *, input_types: Sequence[DType]) -> Any:
    return Components(components, input_types, None)


def _given_shapes(c: ShapeContext) -> list[Dims]:
    types, given = c.attr("output_types"), c.attr("output_shapes")
    if c.running:
        return [None] * len(types)  # what comes out has the shapes that went in
    if len(given) != len(types):
        c.refuse(
            f"`output_shapes` and `output_types` must have the same length, got {len(given)} vs. "
            f"{len(types)}"
        )
    return list(given)


UNCOMPRESS = define_op(
    "UncompressElement(compressed: variant; output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1) -> components: [output_types]",
    shape=_given_shapes,
    fallible=True,
    doc="The components of the element that a variant holds.",
).without_gradient(_WHY)


@host_kernel(UNCOMPRESS, limit=_HOST)
def _uncompress(compressed: Any, *, output_types: Sequence[DType]) -> list[Array]:
    held = _item(compressed)
    if not isinstance(held, Components) or held.kind is not None:
        raise _refused(
            f"Input does not contain a compressed element: expected one made by CompressElement, "
            f"got {held!r}."
        )
    if len(held.arrays) != len(output_types):
        raise errors.FailedPreconditionError(
            None,
            None,
            f"Expected {len(output_types)} outputs from uncompress, but got {len(held.arrays)}.",
        )
    for found, dtype in zip(held.dtypes, output_types, strict=True):
        if found is not dtype:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"Expected a tensor of type {dtype.name} but got a tensor of type {found.name}.",
            )
    return list(held.arrays)
