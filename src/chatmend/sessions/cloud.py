"""Sessions in a bucket: S3, Google Cloud Storage, Azure, or another service that obstore supports.

    from obstore.store import S3Store

    store = SessionStore(CloudStorage(S3Store("bucket", prefix="workspace")))

Names are reserved by conditional creation. Turns are written only if the object has not changed
since it was read. The bucket must support ``If-None-Match`` and ``If-Match`` (S3 since 2024, GCS,
Azure, MinIO, R2).

Install with ``pip install "chatmend[cloud]"``.
"""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

from chatmend.errors import SessionConflictError, SessionError, SessionWriteError
from chatmend.sessions.storage import split_path

if TYPE_CHECKING:
    from obstore.store import ObjectStore


class CloudStorage:
    """The objects of a bucket, or of a prefix in it. Any number of machines may use it."""

    def __init__(self, store: ObjectStore) -> None:
        """Keep sessions in an ``obstore`` store."""
        self._store = store

    def create(self, path: str, data: bytes) -> str:
        """Create an object; see ``Storage``.

        If the response to a creation is lost, the name stays reserved by an empty session.
        """
        split_path(path)
        try:
            return _version(obstore.put(self._store, path, data, mode="create"))
        except (AlreadyExistsError, PreconditionError):
            raise FileExistsError(errno.EEXIST, "the object exists", path) from None
        except (BaseError, OSError) as error:
            raise _write_error(path, error) from error

    def read(self, path: str) -> tuple[bytes, str]:
        """Return the content of an object and its version; see ``Storage``."""
        split_path(path)
        try:
            found = obstore.get(self._store, path)
            return bytes(found.bytes()), _version(found.meta)
        except FileNotFoundError:
            raise
        except (BaseError, OSError) as error:
            raise SessionError(f"{path}: could not be read ({type(error).__name__})") from error

    def replace(self, path: str, data: bytes, version: str) -> str:
        """Replace an object if it still has this version; see ``Storage``."""
        split_path(path)
        try:
            return _version(obstore.put(self._store, path, data, mode=json.loads(version)))
        except (AlreadyExistsError, PreconditionError):
            stored, now = self.read(path)
            # The response to the first attempt was lost, and obstore's retry found its own write.
            if stored == data:
                return now
            raise SessionConflictError(
                f"{path}: another writer has continued this session; load it again"
            ) from None
        except (BaseError, OSError) as error:
            raise _write_error(path, error) from error

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; see ``Storage``."""
        split_path(folder)
        try:
            found: Any = obstore.list_with_delimiter(self._store, f"{folder}/")
        except (BaseError, OSError) as error:
            raise SessionError(f"{folder}: could not be read ({type(error).__name__})") from error
        paths = [*found["common_prefixes"], *(meta["path"] for meta in found["objects"])]
        return [path.rpartition("/")[2] for path in paths]


def _version(meta: Any) -> str:  # noqa: ANN401 - one of several typed dicts
    """Return the condition of an update: the ETag, and in some services a generation."""
    return json.dumps(
        {name: meta[name] for name in ("e_tag", "version") if meta.get(name) is not None}
    )


def _write_error(path: str, error: Exception) -> SessionWriteError:
    # Only the type is reported: the text of the error may contain credentials of the request.
    text = f"{path}: not written ({type(error).__name__}); the previous content is intact"
    return SessionWriteError(getattr(error, "errno", None) or errno.EIO, text)
