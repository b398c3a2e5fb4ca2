"""The platform tags of wheels, from what their libraries need."""

import importlib.util
import pathlib

import pytest
from tests.native.elf_files import AARCH64, X86_64, elf

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tags():
    spec = importlib.util.spec_from_file_location("platform_tag", ROOT / "native/platform_tag.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tag(tags, tmp_path):
    def tag(*contents):
        paths = [tmp_path / f"{i}.so" for i in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        return tags.platform_tag(paths)

    return tag


@pytest.mark.parametrize(
    ("versions", "glibc"),
    [
        ({"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.14"]}, "2_17"),  # no tag is older
        ({"libc.so.6": ["GLIBC_2.32", "GLIBC_2.4"], "libm.so.6": ["GLIBC_2.29"]}, "2_32"),
        ({"libstdc++.so.6": ["GLIBCXX_3.4.29", "CXXABI_1.3.9"]}, "2_34"),
        ({"libstdc++.so.6": ["GLIBCXX_3.4.30"], "libc.so.6": ["GLIBC_2.34"]}, "2_35"),
        ({"libstdc++.so.6": ["GLIBCXX_3.4.22"], "libc.so.6": ["GLIBC_2.38"]}, "2_38"),
        ({"libgcc_s.so.1": ["GCC_3.0", "GCC_14.0.0"]}, "2_39"),
        ({"libc.so.6": ["GLIBC_2.17", "GLIBC_ABI_DT_RELR"]}, "2_36"),
        ({}, "2_17"),
    ],
)
def test_the_tag_is_the_least_that_covers_every_version(tag, versions, glibc):
    assert tag(elf(X86_64, versions)) == f"manylinux_{glibc}_x86_64"
    assert tag(elf(AARCH64, versions)) == f"manylinux_{glibc}_aarch64"


def test_the_tag_covers_all_libraries(tag):
    old = elf(AARCH64, {"libc.so.6": ["GLIBC_2.17"]})
    new = elf(AARCH64, {"libc.so.6": ["GLIBC_2.33"]})
    assert tag(old, new, old) == "manylinux_2_33_aarch64"


@pytest.mark.parametrize(
    ("versions", "libraries"),
    [
        ({}, ["libgomp.so.1"]),  # not on every Linux
        ({"libc.so.6": ["GLIBC_PRIVATE"]}, []),
        ({"libstdc++.so.6": ["GLIBCXX_3.4.99"]}, []),  # of a compiler that the table does not know
        ({"libc.so.6": ["OTHER_1.0"]}, []),
        ({}, ["libc.musl-x86_64.so.1"]),
    ],
)
def test_what_no_number_covers_gets_the_tag_without_a_promise(tag, versions, libraries):
    assert tag(elf(X86_64, versions, libraries)) == "linux_x86_64"


def test_libraries_that_cannot_share_a_wheel_are_errors(tag):
    with pytest.raises(ValueError, match=r"of one machine, got \['aarch64', 'x86_64'\]"):
        tag(elf(X86_64, {}), elf(AARCH64, {}))
    with pytest.raises(ValueError, match="no library"):
        tag()
    with pytest.raises(ValueError, match="got machine 243"):
        tag(elf(243, {}))
    with pytest.raises(ValueError, match="expected a 64-bit little-endian ELF file"):
        tag(b"\x7fELF\x01\x01 of 32 bits")


def test_what_a_library_needs_is_read(tags, tmp_path):
    (tmp_path / "a.so").write_bytes(
        elf(AARCH64, {"libc.so.6": ["GLIBC_2.17"], "libm.so.6": ["GLIBC_2.29"]}, ["other.so"])
    )
    needs = tags.read(tmp_path / "a.so")
    assert needs.machine == "aarch64"
    assert needs.libraries == {"libc.so.6", "libm.so.6", "other.so"}
    assert needs.versions == {"GLIBC_2.17", "GLIBC_2.29"}
