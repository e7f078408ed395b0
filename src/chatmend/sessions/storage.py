"""Where sessions are kept: what any storage must be able to do."""

from __future__ import annotations

from typing import Protocol

from chatmend.errors import SessionError


class Storage(Protocol):
    """Whole files under paths with forward slashes, such as ``sessions/21112026/main_1.md``.

    A file is at every moment the old one or the new one, whole, and only the holder of its version replaces it.
    """

    def create(self, path: str, data: bytes) -> str:
        """Make a file that nobody else has made, with this content, and return its version.

        Raises:
            FileExistsError: there is one.
            SessionWriteError: it could not be written.
        """

    def read(self, path: str) -> tuple[bytes, str]:
        """The content of a file and its version.

        Raises:
            FileNotFoundError: there is none.
        """

    def replace(self, path: str, data: bytes, version: str) -> str:
        """Put a new content in the place of that version, and return the new version.

        Raises:
            SessionConflictError: there is another version.
            SessionWriteError: it could not be written; the old content is still there.
        """

    def names(self, folder: str) -> list[str]:
        """The names of the files and folders in a folder, in any order; none where there is no folder."""


def steps(path: str) -> list[str]:
    """The folders of a path and the name at its end.

    Raises:
        SessionError: it could lead out of the root.
    """
    found = path.split("/")
    if any(step in ("", ".", "..") or set(step) & {"\0", "\\", ":"} for step in found):
        raise SessionError(f"{path!r} is no path below the root")
    return found
