"""The platform tag of a wheel with native libraries, read from the libraries themselves.

    python native/platform_tag.py src/penstock/_native/*.so    # manylinux_2_34_x86_64

`manylinux_2_34_aarch64` promises that the libraries load on every common Linux with glibc 2.34 or
newer (PEP 600). What they need stands in their ELF headers: the processor, other libraries, and the
versions of those libraries' symbols that the linker bound. The tag is the least that covers them;
so it follows from the compiler and the system it builds for, never from the machine it runs on.
Where they need what not every such Linux has, the tag is `linux_aarch64`, which says no more than
that they were built: pip installs it on such a machine, PyPI takes none.
"""

import pathlib
import re
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine
LIBRARIES = frozenset(  # that every such Linux has
    "libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libstdc++.so.6 libgcc_s.so.1 "
    "ld-linux-x86-64.so.2 ld-linux-aarch64.so.1".split()
)
OLDEST = (2, 17)  # no tag promises an older glibc: aarch64 begins with it
# The compilers' run-time libraries that distributions with so new a glibc have at least: the newest
# versions of symbols in each. Facts of auditwheel's manylinux-policy.json.
RUNTIMES = {
    (2, 17): {"GLIBCXX": (3, 4, 19), "CXXABI": (1, 3, 7), "GCC": (4, 7, 0)},
    (2, 24): {"GLIBCXX": (3, 4, 22), "CXXABI": (1, 3, 10), "GCC": (4, 7, 0)},
    (2, 27): {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)},
    (2, 31): {"GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12), "GCC": (7, 0, 0)},
    (2, 34): {"GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)},
    (2, 35): {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (11, 0)},
    (2, 39): {"GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15), "GCC": (14, 0, 0)},
}
# Versions without a number, and the glibc that has them.
UNNUMBERED = {"GLIBC_ABI_DT_RELR": (2, 36), "CXXABI_FLOAT128": (2, 24), "CXXABI_TM_1": (2, 17)}

_DYNAMIC, _VERSIONS = 6, 0x6FFFFFFE  # kinds of sections: SHT_DYNAMIC, SHT_GNU_verneed
_NEEDED = 1  # the kind of an entry of the first: DT_NEEDED


@dataclass(frozen=True, slots=True)
class Needs:
    """What a library needs of the system that loads it.

    Attributes:
      machine: the processor, as tags name it.
      libraries: other libraries, by the names that the loader looks for.
      versions: of these libraries' symbols: "GLIBC_2.17".
    """

    machine: str
    libraries: frozenset[str]
    versions: frozenset[str]


def platform_tag(libraries: Iterable[pathlib.Path]) -> str:
    """The tag of a wheel that holds these libraries.

    Args:
      libraries: ELF files, one at least, of one machine.

    Returns:
      `manylinux_X_Y_<machine>`, or `linux_<machine>` where none of these holds.

    Raises:
      ValueError: a file is no ELF file of a known machine, or they are of several.
    """
    needs = [read(library) for library in libraries]
    machines = sorted({each.machine for each in needs})
    if len(machines) != 1:
        raise ValueError(f"expected libraries of one machine, got {machines or 'no library'}")
    glibc = least_glibc(needs)
    if glibc is None:
        return f"linux_{machines[0]}"
    return f"manylinux_{glibc[0]}_{glibc[1]}_{machines[0]}"


def least_glibc(needs: Iterable[Needs]) -> tuple[int, int] | None:
    """The oldest glibc beside which all is there that is needed, None where no number says so."""
    found = [OLDEST]
    for each in needs:
        if not each.libraries <= LIBRARIES:
            return None
        for version in each.versions:
            glibc = _glibc_of(version)
            if glibc is None:
                return None
            found.append(glibc)
    return max(found)


def _glibc_of(version: str) -> tuple[int, int] | None:
    """The oldest glibc beside which this version of symbols is there."""
    if version in UNNUMBERED:
        return UNNUMBERED[version]
    stated = re.fullmatch(r"([A-Z]+)_(\d+(?:\.\d+)+)", version)
    if stated is None:
        return None
    family, number = stated[1], tuple(map(int, stated[2].split(".")))
    if family == "GLIBC":
        return number[0], number[1]
    fitting = (glibc for glibc, newest in RUNTIMES.items() if number <= newest.get(family, ()))
    return next(fitting, None)


def read(path: pathlib.Path) -> Needs:
    """What the library at `path` needs; raises ValueError where it is no ELF file that we know."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"expected a 64-bit little-endian ELF file, got {path}")
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine not in MACHINES:
        raise ValueError(f"expected a library for {MACHINES}, got machine {machine} in {path}")
    libraries: set[str] = set()
    versions: set[str] = set()
    for kind, content, names in _sections(data):
        if kind == _DYNAMIC:
            entries = struct.iter_unpack("<QQ", content)
            libraries |= {_text(names, value) for tag, value in entries if tag == _NEEDED}
        elif kind == _VERSIONS:
            versions |= {_text(names, place) for place in _version_names(content)}
    return Needs(MACHINES[machine], frozenset(libraries), frozenset(versions))


def _sections(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Kind and content of the sections wanted, and the content of that which holds their names."""
    (first,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    # Of a section: its kind, its place and length, and the number of another one.
    headers = [struct.unpack_from("<4xI16xQQI", data, first + i * size) for i in range(count)]
    for kind, place, length, link in headers:
        if kind in (_DYNAMIC, _VERSIONS):
            _, at, names, _ = headers[link]
            yield kind, data[place : place + length], data[at : at + names]


def _version_names(content: bytes) -> Iterator[int]:
    """The places of the versions' names: a chain of libraries, each with a chain of versions."""
    at, more = 0, len(content) > 0
    while more:
        versions, first, step = struct.unpack_from("<2xH4xII", content, at)
        inner = at + first
        for _ in range(versions):
            name, inner_step = struct.unpack_from("<8xII", content, inner)
            yield name
            inner += inner_step
        at, more = at + step, step > 0


def _text(names: bytes, place: int) -> str:
    return names[place : names.index(0, place)].decode()


if __name__ == "__main__":
    print(platform_tag(map(pathlib.Path, sys.argv[1:])))
