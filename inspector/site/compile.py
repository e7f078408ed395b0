"""Compiles the modules in a ZIP archive and leaves the sources out. Runs in Pyodide."""

import importlib.util
import io
import marshal
import zipfile


def compiled(data: bytes, optimize: int) -> bytes:
    """Return an archive in which bytecode replaces the source of each module.

    It is compressed, because few web servers compress archives.
    """
    out = io.BytesIO()
    header = importlib.util.MAGIC_NUMBER + bytes(12)
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in sorted(old.namelist()):
            content = old.read(name)
            if name.endswith(".py"):
                code = compile(content, name, "exec", dont_inherit=True, optimize=optimize)
                content = header + marshal.dumps(code)
            path = f"{name}c" if name.endswith(".py") else name
            new.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()
