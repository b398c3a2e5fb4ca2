"""Names of sessions: `ConfigProto.experimental.session_metadata`, which tells them apart.

A name and version belong to one open session of the process.
"""

import threading
import weakref
from typing import Any

from penstock import errors

_lock = threading.Lock()  # guards: _holders
_holders: weakref.WeakValueDictionary[tuple[str, int], Any] = weakref.WeakValueDictionary()


def take_name(session: Any, metadata: tuple[str, int]) -> None:
    """Notes that a session has a name and version; an empty name is none.

    Raises:
      InvalidArgumentError: another open session has both.
    """
    if not metadata[0]:
        return
    with _lock:
        if metadata in _holders:
            name, version = metadata
            raise errors.InvalidArgumentError(
                None,
                None,
                "A session with the same name and version has already been created: expected"
                f" another than '{name}', version {version}. Close that session, or change"
                " ConfigProto.experimental.session_metadata.",
            )
        _holders[metadata] = session


def give_name_back(session: Any) -> None:
    """Frees the name of a session that is closed."""
    with _lock:
        for metadata, holder in list(_holders.items()):
            if holder is session:
                del _holders[metadata]
