"""One page a provider: every fact of its table, with the source and the date, and what its models differ in."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SECTIONS = {
    "limits": "Messages",
    "images": "Images",
    "hygiene": "Hygiene: what agent gateways keep to here, and `Policy.provider_hygiene()` asks for",
}


def provider_pages(tables: Path, notice: str) -> Iterator[tuple[str, str]]:
    """The names of the pages and their texts."""
    paths = sorted(tables.glob("*.toml"))
    for path in paths:
        yield path.stem, f"{notice}\n{_page(path)}"
    yield "README", f"{notice}\n{_index(paths)}"


def _index(paths: list[Path]) -> str:
    rows = [f"| [{path.stem}]({path.stem}.md) | {_title(path)} | {_count(_read(path))} |" for path in paths]
    return (
        "# Providers\n\nWhat each provider takes and refuses, as chatmend's tables say it. A limit that is not "
        "named is not judged. A wrong or missing fact is one line in one file: see "
        "[CONTRIBUTING](https://github.com/chatmend/chatmend/blob/main/CONTRIBUTING.md).\n\n"
        "| target | what it is | facts |\n|---|---|--:|\n" + "\n".join(rows) + "\n"
    )


def _page(path: Path) -> str:
    table = _read(path)
    names = ", ".join(f"`{name}`" for name in table.get("names", [path.stem]))
    owned = ", ".join(f"`{name}`" for name in table.get("models", ()))
    hosts = ", ".join(f"`{host}`" for host in table.get("hosts", ()))
    head = f"# {path.stem}\n\n{_title(path)}.\n\nNames: {names}."
    head += f" Addresses: {hosts}." if hosts else ""
    head += f" Models known without the provider's name: {owned}.\n" if owned else "\n"
    parts = [head, *_facts(table, "##")]
    comments = _comments(path)
    for family, comment in zip(table.get("family", ()), comments, strict=True):
        parts.append(_family(family, comment))
        parts += _facts(family, "###")
    return "\n".join(parts)


def _family(family: dict[str, Any], comment: str) -> str:
    models = ", ".join(f"`{pattern}`" for pattern in family["match"])
    spoken = f" spoken to in `{family['dialect']}`" if "dialect" in family else ""
    like = f"The limits of [{family['like']}]({family['like']}.md) hold." if "like" in family else ""
    said = [f"{comment}." if comment else "", like]
    return "\n\n".join([f"## Models {models}{spoken}", *filter(None, said)]) + "\n"


def _facts(table: dict[str, Any], level: str) -> Iterator[str]:
    for section, title in _SECTIONS.items():
        facts = table.get(section)
        if facts:
            rows = [_row(name, fact) for name, fact in facts.items()]
            head = "| limit | value | source | checked |\n|---|---|---|---|\n"
            yield f"{level} {title}\n\n{head}" + "\n".join(rows) + "\n"


def _row(name: str, fact: Any) -> str:  # noqa: ANN401 - a value of TOML
    known = fact if isinstance(fact, dict) else {"value": fact, "source": "", "checked": ""}
    return f"| `{name}` | {_value(known['value'])} | {_cell(known['source'])} | {known['checked']} |"


def _value(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(f"`{_cell(str(item))}`" for item in value) or "none"
    return f"{value:,}" if isinstance(value, int) else f"`{_cell(str(value))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _count(table: dict[str, Any]) -> int:
    places = [table, *table.get("family", ())]
    return sum(len(place.get(section, ())) for place in places for section in _SECTIONS)


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def _title(path: Path) -> str:
    """The comment that a table begins with."""
    return path.read_text("utf-8").splitlines()[0].removeprefix("#").strip().removesuffix(".")


def _comments(path: Path) -> list[str]:
    """The comment under each ``[[family]]``."""
    lines = path.read_text("utf-8").splitlines()
    said = [lines[at + 1] for at, line in enumerate(lines) if line == "[[family]]"]
    return [line.removeprefix("#").strip().removesuffix(".") if line.startswith("#") else "" for line in said]
