"""Finds the files of a data set that a command repairs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from chatmend.cli.data_files import FILE_TYPES
from chatmend.cli.data_postgres import is_database, open_database
from chatmend.cli.data_run import QUARANTINE, DataFile
from chatmend.cli.terminal import error_exit


def discover(
    names: list[str], out: Path, table: str, excluded: Path | None = None
) -> list[DataFile]:
    """Return the files of the command.

    Args:
        names: files, directories, or the address of a database.
        out: the output directory; files in it are left out.
        table: the table of the database.
        excluded: a further file that is left out, in which changes are recorded.

    Raises:
        typer.Exit: a file does not exist or has an unknown type, or two have the same output.
    """
    found: list[DataFile] = []
    for name in names:
        if is_database(name):
            found.append(open_database(name, table))
        elif (path := Path(name)).is_dir():
            found += [
                DataFile(inner, inner.relative_to(path), FILE_TYPES[inner.suffix.lower()])
                for inner in sorted(path.rglob("*"))
                if inner.suffix.lower() in FILE_TYPES
                and inner.is_file()
                and not any(part.startswith(".") for part in inner.relative_to(path).parts)
                and not inner.resolve().is_relative_to(out.resolve())
                and not (excluded and inner.resolve() == excluded.resolve())
            ]
        else:
            found.append(_named_file(path))
    paths = Counter(file.relative_path for file in found)
    if twice := [path for path, number in paths.items() if number > 1]:
        raise error_exit(
            f"two files are named {str(twice[0])!r} and would overwrite each other in {out}; "
            "repair them separately"
        )
    if inner := [path for path in paths if path.parts[0] == QUARANTINE]:
        raise error_exit(f"{inner[0]}: the folder {QUARANTINE!r} is for output; rename it")
    if same := [
        file.path for file in found if (out / file.relative_path).resolve() == file.path.resolve()
    ]:
        raise error_exit(f"{same[0]} is in the output directory; choose another --out")
    if not found:
        raise error_exit(f"no {', '.join(FILE_TYPES)} file found")
    return found


def _named_file(path: Path) -> DataFile:
    if not path.is_file():
        raise error_exit(f"{path}: no such file")
    if path.suffix.lower() not in FILE_TYPES:
        raise error_exit(
            f"{path}: unknown file type {path.suffix!r}; known: {', '.join(FILE_TYPES)}"
        )
    return DataFile(path, Path(path.name), FILE_TYPES[path.suffix.lower()])
