"""Generate one page per host and maker: its limits with meaning, value, source and date."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatmend import sandbox
from chatmend.rules import LAST, RULES
from chatmend.targets import image_limits, limits
from chatmend.targets.explain import how_known
from chatmend.targets.tables import host_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_SECTIONS = {
    "structure": "Messages, behind every host",
    "structure_images": "Images, behind every host",
    "api": "Messages, at the maker's own API",
    "limits": "Messages",
    "rules": "Limits of single rules",
    "images": "Images",
    "hygiene": "Conventions of agent gateways, applied by `Policy.provider_hygiene()`",
}
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+){2,}")
"""The form of the ids of recorded facts, such as ``openai-chat-role-unknown``."""
_LONGEST = 100
"""How many characters of a provider's text a page quotes."""


def provider_pages(tables: Path, notice: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page; ``tables`` has the folders hosts and makers."""
    hosts, makers = (sorted((tables / folder).glob("*.toml")) for folder in ("hosts", "makers"))
    for path in hosts:
        yield f"hosts/{path.stem}", f"{notice}\n{_host_page(path)}"
    for path in makers:
        yield f"makers/{path.stem}", f"{notice}\n{_maker_page(path)}"
    yield "README", f"{notice}\n{_index(hosts, makers)}"


def _index(hosts: list[Path], makers: list[Path]) -> str:
    return (
        "# Hosts and makers\n\n"
        "A request is sent to a [host](../reference/glossary.md) for a model of a maker. The "
        "limits of a target are those of its host, and the structure that the maker of the model "
        "demands behind every host. These pages are generated from chatmend's tables; limits that "
        "are not listed are not enforced. `chatmend targets --explain HOST/MODEL` prints each "
        "limit of one target and where it comes from. To correct or add a fact, change one line "
        "in one file: see "
        "[CONTRIBUTING](https://github.com/chatmend/chatmend/blob/main/CONTRIBUTING.md).\n\n"
        "A host that is not listed gets the limits of an unknown server, "
        "[openai_compatible](hosts/openai_compatible.md).\n\n"
        f"## Makers\n\n{_listing(makers)}\n## Hosts\n\n{_listing(hosts)}"
    )


def _listing(paths: list[Path]) -> str:
    rows = [
        f"| [{path.stem}]({path.parent.name}/{path.stem}.md) | {_title(path)} "
        f"| {_count(_read(path))} | {_newest(_read(path))} |"
        for path in paths
    ]
    return (
        "| name | description | facts | last checked |\n|---|---|--:|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def _host_page(path: Path) -> str:
    table = host_table(path.stem)
    head = f"# {path.stem}\n\n{_title(path)}.\n\nNames: {_codes(table['names'])}."
    head += f" Addresses: {_codes(table['addresses'])}." if "addresses" in table else ""
    owned = table.get("models")
    head += f" Models recognised without the host's name: {_codes(owned)}." if owned else ""
    notes = []
    if "like" in table:
        notes.append(f"The limits of [{table['like']}]({table['like']}.md) come first.")
    if table.get("prefix_is_host"):
        notes.append("The first segment of a model's name is the host behind it.")
    if not table.get("makers", True):
        notes.append("The name of a model does not change the limits.")
    for name, lift in table.get("lifts", {}).items():
        notes.append(
            f"`{name}`, which some makers demand, does not hold here: {_source(lift['source'])} "
            f"({lift['checked']})."
        )
    parts = ["\n\n".join([head, *notes]) + "\n", *_facts(table, "##")]
    for entry, comment in zip(table.get("serves", ()), _comments(path, "serves"), strict=True):
        parts.append(_entry(entry, comment))
        parts += _facts(entry, "###")
    return "\n".join(parts)


def _maker_page(path: Path) -> str:
    table = _read(path)
    head = f"# {path.stem}\n\n{_title(path)}.\n\nNames of the models: {_codes(table['models'])}"
    head += f", except {_codes(table['except'])}.\n" if "except" in table else ".\n"
    parts = [head, *_facts(table, "##")]
    comments = _comments(path, "generation")
    for generation, comment in zip(table.get("generation", ()), comments, strict=True):
        parts.append(_entry(generation, comment))
        parts += _facts(generation, "###")
    return "\n".join(parts)


_HOLDS = {
    "all": "everything that the maker's own API checks",
    "messages": "what the maker's own API checks in messages, except images and files",
    "structure": "the structure that the maker demands",
}


def _codes(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _entry(entry: dict[str, Any], comment: str) -> str:
    dialect = f" in `{entry['dialect']}` requests" if "dialect" in entry else ""
    notes = [f"{comment[:1].upper()}{comment[1:]}." if comment else ""]
    if "host" in entry:
        notes.append(f"These models have the limits of [{entry['host']}]({entry['host']}.md).")
    if "maker" in entry:
        which = _HOLDS[entry["holds"]]
        notes.append(f"Here holds {which}: [{entry['maker']}](../makers/{entry['maker']}.md).")
    return (
        "\n\n".join([f"## Models {_codes(entry['models'])}{dialect}", *filter(None, notes)]) + "\n"
    )


def _facts(table: dict[str, Any], level: str) -> Iterator[str]:
    for section, title in _SECTIONS.items():
        facts = table.get(section)
        if facts:
            meanings = _meanings_in(section)
            rows = [_row(name, meanings[name], fact) for name, fact in facts.items()]
            head = "| limit | value | how known | source | checked |\n|---|---|---|---|---|\n"
            yield f"{level} {title}\n\n{head}" + "\n".join(rows) + "\n"


def _meanings_in(section: str) -> dict[str, str]:
    """Return what each limit of a section means."""
    if section == "rules":
        return {
            name: f"read by the rule [{rule.name}](../../rules/{rule.name}.md)"
            for rule in (*RULES, *LAST)
            for name in rule.own_limits
        }
    return _meanings(image_limits if section in ("images", "structure_images") else limits)


def _row(name: str, meaning: str, fact: Any) -> str:  # noqa: ANN401 - a value of TOML
    known = fact if isinstance(fact, dict) else {"value": fact}
    source = _source(known["source"]) if known.get("source") else ""
    how = how_known(known.get("source", ""))
    value, date = _value(known["value"]), known.get("checked", "")
    return f"| `{name}`: {meaning} | {value} | {how} | {source} | {date} |"


@cache
def _meanings(module: ModuleType) -> dict[str, str]:
    """Return the first paragraph of the docstring under each field of the module's classes."""
    found = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ClassDef):
            for field, below in zip(node.body, node.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                    paragraph = ast.literal_eval(below.value).strip().partition("\n\n")[0]
                    text = _cell(" ".join(paragraph.split())).replace("``", "`")
                    found[ast.unparse(field.target)] = text
    return found


def _source(source: str) -> str:
    """Replace the ids of recorded facts by the provider's text, or by words."""
    texts = _refusals()

    def readable(found: re.Match[str]) -> str:
        if found[0] not in texts:
            return found[0].replace("-", " ")
        text = texts[found[0]]
        return f"“{text[:_LONGEST].rstrip()}{'…' if len(text) > _LONGEST else ''}”"

    return _cell(source if "/" in source else _ID.sub(readable, source))


@cache
def _refusals() -> dict[str, str]:
    """Return the text of each refusal of the sandbox, by its id."""
    found = {}
    for path in (Path(sandbox.__file__).parent / "providers").glob("*.toml"):
        for name, rule in _read(path).get("rules", {}).items():
            if isinstance(rule.get("text"), str):
                found[name] = " ".join(rule["text"].split())
    return found


def _value(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(f"`{_cell(str(item))}`" for item in value) or "none"
    return f"{value:,}" if isinstance(value, int) else f"`{_cell(str(value))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _count(table: dict[str, Any]) -> int:
    return sum(1 for _ in _all_facts(table))


def _newest(table: dict[str, Any]) -> str:
    return str(max((fact["checked"] for fact in _all_facts(table)), default=""))


def _all_facts(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in [table, *table.get("serves", ()), *table.get("generation", ())]:
        for section in _SECTIONS:
            yield from part.get(section, {}).values()


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def _title(path: Path) -> str:
    """Return the comment on the first line of a table."""
    return path.read_text("utf-8").splitlines()[0].removeprefix("#").strip().removesuffix(".")


def _comments(path: Path, kind: str) -> list[str]:
    """Return the comment below each entry of a kind (``[[serves]]``); empty if there is none."""
    lines = path.read_text("utf-8").splitlines()
    below = [lines[number + 1] for number, line in enumerate(lines) if line == f"[[{kind}]]"]
    return [
        line.removeprefix("#").strip().removesuffix(".") if line.startswith("#") else ""
        for line in below
    ]
