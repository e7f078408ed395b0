"""Sessions in a bucket: S3, Google Cloud Storage, Azure, or whatever else ``obstore`` speaks.

    from obstore.store import S3Store

    store = SessionStore(CloudStorage(S3Store("bucket", prefix="workspace")))

Names are taken by conditional creation, turns are written on the condition that the object is still the one that was
read. Both need a bucket that honours ``If-None-Match`` and ``If-Match`` (S3 since 2024, GCS, Azure, MinIO, R2).
Needs ``pip install "chatmend[cloud]"``.
"""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

from chatmend.errors import SessionConflictError, SessionError, SessionWriteError
from chatmend.sessions.storage import steps

if TYPE_CHECKING:
    from obstore.store import ObjectStore


class CloudStorage:
    """The objects of one bucket, or of the part of it below the store's prefix. Any number of machines may use it."""

    def __init__(self, store: ObjectStore) -> None:
        """Keep sessions in an ``obstore`` store."""
        self._store = store

    def create(self, path: str, data: bytes) -> str:
        """See ``Storage``. A name whose creation was not answered stays taken, by an empty session."""
        steps(path)
        try:
            return _version(obstore.put(self._store, path, data, mode="create"))
        except (AlreadyExistsError, PreconditionError):
            raise FileExistsError(errno.EEXIST, "there is one", path) from None
        except (BaseError, OSError) as error:
            raise _not_written(path, error) from error

    def read(self, path: str) -> tuple[bytes, str]:
        """See ``Storage``."""
        steps(path)
        try:
            found = obstore.get(self._store, path)
            return bytes(found.bytes()), _version(found.meta)
        except FileNotFoundError:
            raise
        except (BaseError, OSError) as error:
            raise SessionError(f"{path}: could not be read ({type(error).__name__})") from error

    def replace(self, path: str, data: bytes, version: str) -> str:
        """See ``Storage``: written if the object is still that version."""
        steps(path)
        try:
            return _version(obstore.put(self._store, path, data, mode=json.loads(version)))
        except (AlreadyExistsError, PreconditionError):
            stored, now = self.read(path)
            if stored == data:  # an answer was lost, and what was sent again came second to itself
                return now
            raise SessionConflictError(f"{path}: another writer went on with this session; load it again") from None
        except (BaseError, OSError) as error:
            raise _not_written(path, error) from error

    def names(self, folder: str) -> list[str]:
        """See ``Storage``."""
        steps(folder)
        try:
            found: Any = obstore.list_with_delimiter(self._store, f"{folder}/")
        except (BaseError, OSError) as error:
            raise SessionError(f"{folder}: could not be read ({type(error).__name__})") from error
        paths = [*found["common_prefixes"], *(meta["path"] for meta in found["objects"])]
        return [path.rpartition("/")[2] for path in paths]


def _version(meta: Any) -> str:  # noqa: ANN401 - a typed dict, of one class or another
    """What an update depends on: the ETag, and on some stores a generation."""
    return json.dumps({name: meta[name] for name in ("e_tag", "version") if meta.get(name) is not None})


def _not_written(path: str, error: Exception) -> SessionWriteError:
    # The type alone: the text may quote keys of the request.
    text = f"{path}: not written ({type(error).__name__}); what was stored before is still there, whole"
    return SessionWriteError(getattr(error, "errno", None) or errno.EIO, text)
