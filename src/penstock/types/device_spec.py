"""DeviceSpec: which device, known in full or in part.

The canonical text is ``/job:worker/replica:0/task:1/device:GPU:0``; each part may be missing, and
an index may be ``*``, any. The older short form ``/gpu:0`` is read too. `DeviceSpecV2` is
immutable; `DeviceSpecV1`, TensorFlow 1's, can be changed. Merging takes each part from the inner
spec where it has one and from the outer one otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from penstock.errors import located

# Types that have a short form, `/gpu:0`; other types are written `/device:TYPE:0`.
_SHORT_TYPES: set[str] = {"CPU", "GPU", "TPU", "CUSTOM", "EPU"}


class _Parts(NamedTuple):
    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None


_FORMS = "parts like /job:NAME, /replica:0, /task:0, /device:GPU:0 or the short /gpu:0"


def register_device_type(device_type: str) -> None:
    """Lets a type of device be written in the short form, `/type:0`."""
    _SHORT_TYPES.add(device_type.upper())


def _text(parts: _Parts) -> str:
    out = "" if parts.job is None else f"/job:{parts.job}"
    if parts.replica is not None:
        out += f"/replica:{parts.replica}"
    if parts.task is not None:
        out += f"/task:{parts.task}"
    if parts.device_type is not None:
        index = "*" if parts.device_index is None else parts.device_index
        out += f"/device:{parts.device_type}:{index}"
    return out


def _integer(value: Any, what: str, spec: str | None = None) -> int | None:
    if value is None:
        return None
    try:
        return int(value)
    except ValueError:
        where = f"DeviceSpec {what}" if spec is None else f"device {spec!r}"
        raise ValueError(
            located(where, f"an integer {what}", repr(value), "Leave the part out to mean any.")
        ) from None


def _parse(spec: str | None) -> _Parts:
    if spec is None:
        return _Parts()
    if not isinstance(spec, str):
        raise TypeError(located("DeviceSpec.from_string", "text", repr(spec), "Pass a str."))
    parts = _Parts()
    for field in spec.split("/"):
        if field:
            parts = _with_field(parts, field.split(":"), spec)
    return parts


def _with_field(parts: _Parts, field: list[str], spec: str) -> _Parts:
    key, values = field[0], field[1:]
    if key == "job" and len(values) == 1:
        return parts._replace(job=values[0])
    if key in ("replica", "task") and len(values) == 1:
        number = _integer(values[0], key, spec)
        return parts._replace(replica=number) if key == "replica" else parts._replace(task=number)
    if key == "device" and len(values) == 2:
        return _with_device(parts, values[0], values[1], spec)
    if key.upper() in _SHORT_TYPES and len(values) <= 1:
        return _with_device(parts, key, values[0] if values else "*", spec)
    raise ValueError(
        f"Unknown attribute '{key}' is encountered while parsing the device spec: '{spec}': "
        f"expected {_FORMS}, got {':'.join(field)!r}."
    )


def _with_device(parts: _Parts, device_type: str, index: str, spec: str) -> _Parts:
    if parts.device_type is not None:
        raise ValueError(
            f"Multiple device types are not allowed while parsing the device spec: {spec}: "
            f"expected one, got {parts.device_type} and {device_type.upper()}."
        )
    number = None if index == "*" else _integer(index, "device index", spec)
    return parts._replace(device_type=device_type.upper(), device_index=number)


class DeviceSpecV2:
    """A device, known in full or in part; immutable.

    Args:
      job: the name of a job, or None for any.
      replica: the number of a replica, or None.
      task: the number of a task, or None.
      device_type: a type such as "CPU" or "GPU", in any case; or None.
      device_index: the number of the device among those of its type, or None.

    Raises:
      ValueError: a number is none.

    Example:
      >>> DeviceSpecV2(job="ps", device_type="cpu", device_index=0).to_string()
      '/job:ps/device:CPU:0'
    """

    __slots__ = ("_as_string", "_parts")

    def __init__(
        self,
        job: str | None = None,
        replica: int | str | None = None,
        task: int | str | None = None,
        device_type: str | None = None,
        device_index: int | str | None = None,
    ) -> None:
        self._set_parts(
            _Parts(
                None if job is None else str(job),
                _integer(replica, "replica"),
                _integer(task, "task"),
                None if device_type is None else str(device_type).upper(),
                _integer(device_index, "device index"),
            )
        )

    def _set_parts(self, parts: _Parts) -> None:
        self._parts = parts
        self._as_string = _text(parts)

    @classmethod
    def _from_parts(cls, parts: _Parts) -> Self:
        self = object.__new__(cls)
        self._set_parts(parts)
        return self

    @classmethod
    def from_string(cls, spec: str | None) -> Self:
        """Reads a device from text.

        Args:
          spec: the canonical or the short form; an empty string or None for any device.

        Raises:
          ValueError: the text is malformed.

        Example:
          >>> DeviceSpecV2.from_string("/task:1/gpu:0").to_string()
          '/task:1/device:GPU:0'
        """
        return cls._from_parts(_parse(spec))

    def parse_from_string(self, spec: str | None) -> Self:
        """The same as `from_string`; for TensorFlow 1's spec, sets its parts."""
        return type(self).from_string(spec)

    @property
    def job(self) -> str | None:
        """The name of the job, or None for any."""
        return self._parts.job

    @property
    def replica(self) -> int | None:
        """The number of the replica, or None for any."""
        return self._parts.replica

    @property
    def task(self) -> int | None:
        """The number of the task, or None for any."""
        return self._parts.task

    @property
    def device_type(self) -> str | None:
        """The type of the device in capitals, or None for any."""
        return self._parts.device_type

    @property
    def device_index(self) -> int | None:
        """The number of the device among those of its type, or None for any."""
        return self._parts.device_index

    def to_string(self) -> str:
        """The canonical text; parts that are not known are left out."""
        return self._as_string

    def _merged_parts(self, dev: Any) -> _Parts:
        if not isinstance(dev, DeviceSpecV2):
            raise TypeError(
                located(
                    "DeviceSpec merge",
                    "a DeviceSpec",
                    repr(dev),
                    "Make one with DeviceSpec.from_string.",
                )
            )
        known = {k: v for k, v in dev._parts._asdict().items() if v is not None}
        return self._parts._replace(**known)

    def make_merged_spec(self, dev: DeviceSpecV2) -> Self:
        """A spec with the parts of `dev`, and those of this spec where `dev` has none.

        Example:
          >>> outer = DeviceSpecV2.from_string("/job:ps/device:GPU:0")
          >>> outer.make_merged_spec(DeviceSpecV2(task=1)).to_string()
          '/job:ps/task:1/device:GPU:0'
        """
        return self._from_parts(self._merged_parts(dev))

    def replace(self, **kwargs: Any) -> Self:
        """A spec with some parts replaced.

        Args:
          **kwargs: arguments of the class; None means any.

        Raises:
          TypeError: an argument is unknown.
        """
        return type(self)(**{**self._parts._asdict(), **kwargs})

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._as_string == other._as_string

    def __hash__(self) -> int:
        return hash(self._as_string)

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v}" for k, v in self._parts._asdict().items())
        return f"<DeviceSpec({fields})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self._parts)


class DeviceSpecV1(DeviceSpecV2):
    """TensorFlow 1's DeviceSpec, whose parts can be set; otherwise like `DeviceSpecV2`."""

    __slots__ = ()
    __hash__ = DeviceSpecV2.__hash__

    @property
    def job(self) -> str | None:
        """The name of the job, or None for any."""
        return self._parts.job

    @job.setter
    def job(self, job: str | None) -> None:
        self._set_parts(self._parts._replace(job=None if job is None else str(job)))

    @property
    def replica(self) -> int | None:
        """The number of the replica, or None for any."""
        return self._parts.replica

    @replica.setter
    def replica(self, replica: int | str | None) -> None:
        self._set_parts(self._parts._replace(replica=_integer(replica, "replica")))

    @property
    def task(self) -> int | None:
        """The number of the task, or None for any."""
        return self._parts.task

    @task.setter
    def task(self, task: int | str | None) -> None:
        self._set_parts(self._parts._replace(task=_integer(task, "task")))

    @property
    def device_type(self) -> str | None:
        """The type of the device in capitals, or None for any."""
        return self._parts.device_type

    @device_type.setter
    def device_type(self, device_type: str | None) -> None:
        text = None if device_type is None else str(device_type).upper()
        self._set_parts(self._parts._replace(device_type=text))

    @property
    def device_index(self) -> int | None:
        """The number of the device among those of its type, or None for any."""
        return self._parts.device_index

    @device_index.setter
    def device_index(self, device_index: int | str | None) -> None:
        self._set_parts(self._parts._replace(device_index=_integer(device_index, "device index")))

    def parse_from_string(self, spec: str | None) -> Self:
        """Sets all parts from text and returns this spec."""
        self._set_parts(_parse(spec))
        return self

    def merge_from(self, dev: DeviceSpecV2) -> None:
        """Takes over the parts that `dev` has."""
        self._set_parts(self._merged_parts(dev))

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)


DeviceSpec = DeviceSpecV2


def canonical_name(device: DeviceSpecV2 | str | None) -> str:
    """The canonical text of a device given as text, as a DeviceSpec or as None for any.

    Example:
      >>> canonical_name("/gpu:1"), canonical_name(None)
      ('/device:GPU:1', '')
    """
    if isinstance(device, DeviceSpecV2):
        return device.to_string()
    return _text(_parse(device))
