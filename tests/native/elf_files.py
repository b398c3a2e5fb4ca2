"""Files in the ELF format with nothing but what a library says that it needs."""

import struct

X86_64, AARCH64 = 62, 183


def elf(machine, versions, libraries=()):
    """A shared library's bytes.

    Args:
      machine: the number of the processor.
      versions: by the name of a library the versions of its symbols that are needed.
      libraries: names of more libraries.
    """
    names = bytearray(b"\0")

    def place(text):
        names.extend(text.encode() + b"\0")
        return len(names) - len(text) - 1

    dynamic = b"".join(struct.pack("<QQ", 1, place(each)) for each in (*versions, *libraries))
    needs = b""
    for left, (library, wanted) in zip(
        reversed(range(len(versions))), versions.items(), strict=True
    ):
        step = (16 + 16 * len(wanted)) * (left > 0)
        needs += struct.pack("<HHIII", 1, len(wanted), place(library), 16, step)
        for more, version in zip(reversed(range(len(wanted))), wanted, strict=True):
            needs += struct.pack("<IHHII", 0, 0, 2, place(version), 16 * (more > 0))
    contents = [(0, b"", 0), (3, bytes(names), 0), (6, dynamic + bytes(16), 1)]
    contents += [(0x6FFFFFFE, needs, 1)] if needs else []
    start = 64 + 64 * len(contents)
    headers, body = b"", b""
    for kind, content, link in contents:
        at = start + len(body)
        headers += struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, at, len(content), link, 0, 1, 0)
        body += content
    first = struct.pack("<16sHHIQQQ", b"\x7fELF\x02\x01\x01", 3, machine, 1, 0, 0, 64)
    return first + struct.pack("<IHHHHHH", 0, 64, 0, 0, 64, len(contents), 1) + headers + body
