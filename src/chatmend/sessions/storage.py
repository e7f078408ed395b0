"""The interface of storages for sessions."""

from __future__ import annotations

from typing import Protocol

from chatmend.errors import SessionError


class Storage(Protocol):
    """Complete files under paths with forward slashes, such as ``sessions/21112026/main_1.md``.

    Readers see either the old or the new content of a file, never a part. A file can be replaced
    only by a writer that knows its current version.
    """

    def create(self, path: str, data: bytes) -> str:
        """Create a new file with this content, and return its version.

        Raises:
            FileExistsError: the file exists.
            SessionWriteError: the file could not be written.
        """

    def read(self, path: str) -> tuple[bytes, str]:
        """Return the content of a file and its version.

        Raises:
            FileNotFoundError: the file does not exist.
        """

    def replace(self, path: str, data: bytes, version: str) -> str:
        """Replace the content of a file that has this version, and return the new version.

        Raises:
            SessionConflictError: the file has another version.
            SessionWriteError: the file could not be written; its content is unchanged.
        """

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, in any order; an empty list if it does not exist."""


def split_path(path: str) -> list[str]:
    """Return the folders of a path and the name at its end.

    Raises:
        SessionError: the path could lead out of the root.
    """
    found = path.split("/")
    if any(step in ("", ".", "..") or set(step) & {"\0", "\\", ":"} for step in found):
        raise SessionError(
            f"{path!r}: expected a relative path below the root of the store, "
            "such as 'sessions/21112026/main_1.md'"
        )
    return found
