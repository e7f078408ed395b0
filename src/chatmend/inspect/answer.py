"""Answers the questions of the front end: a function from JSON values to JSON values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend.inspect.explanation import explain_error
from chatmend.inspect.inspection import MOST_TARGETS, inspect_for, scan
from chatmend.inspect.recognition import recognise
from chatmend.inspect.redaction import redacted_report
from chatmend.inspect.snippets import command_line, python_snippet
from chatmend.inspect.target_choices import choices, guess
from chatmend.inspect.thumbnails import Thumbnails, draw_with_pillow
from chatmend.manuals import manuals

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.images.recompressor import Recompressor
    from chatmend.inspect.recognition import Recognised

_COPIES = ("body", "python", "command", "report")


def answer(
    question: dict[str, Any],
    *,
    recompressor: Recompressor | None = None,
    draw: Callable[[bytes, str], str | None] = draw_with_pillow,
) -> dict[str, Any]:
    """Return the answer to a question of the front end.

    Args:
        question: ``ask`` is ``targets`` (what the picker offers), ``inspect``, ``copy`` or
            ``scan``. The last three read ``error`` (an error text, may be empty) and ``targets``
            (names; empty means a guess); ``inspect`` and ``copy`` also ``text`` (what was pasted)
            and ``row`` (which of several conversations in it; may be absent). ``copy`` also reads
            ``what``: ``body``, ``python``, ``command`` or ``report``. ``scan`` counts the findings
            of each of ``texts``.
        recompressor: recompresses images, as in ``repair``.
        draw: draws a small picture of an image.

    Raises:
        ValueError: the question is malformed.
    """
    asked = question.get("ask")
    if asked == "targets":
        return {"targets": list(choices())}
    names, error = _names(question.get("targets")), question.get("error", "")
    if asked not in ("inspect", "copy", "scan") or not isinstance(error, str):
        raise ValueError("ask must be 'targets', 'inspect', 'copy' or 'scan'; error is a string")
    if asked == "scan":
        return {"rows": [scan(text, names, error) for text in _texts(question)]}
    text, row = question.get("text", ""), question.get("row")
    if not isinstance(text, str) or not (row is None or isinstance(row, int)):
        raise ValueError("text must be a string; row a number or null")
    found = recognise(text, row)
    error = error.strip() or found.error
    if asked == "copy":
        name = names[0] if names else guess(found, error).target
        return {"copy": _copy(str(question.get("what")), found, error, name, recompressor)}
    return _inspect(found, error, names, (recompressor, draw))


def _names(value: object) -> list[str]:
    listed = value if isinstance(value, list) else []
    names = (name.strip() for name in listed if isinstance(name, str))
    return list(dict.fromkeys(name for name in names if name))[:MOST_TARGETS]


def _texts(question: dict[str, Any]) -> list[str]:
    texts = question.get("texts")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("texts must be a list of strings")
    return texts


def _inspect(
    found: Recognised,
    error: str,
    names: list[str],
    images: tuple[Recompressor | None, Callable[[bytes, str], str | None]],
) -> dict[str, Any]:
    result: dict[str, Any] = {"kind": found.kind, "said": found.said}
    if found.rows is not None:
        result["rows"] = found.rows.to_data()
    if error:
        result["error"] = explain_error(error, found.conversation)
        result["rules"] = {code: _rule(code) for code in result["error"]["codes"]}
    if found.usages:
        result["usage"] = [usage.to_dict() for usage in found.usages[:100]]
    if found.conversation is None:
        return result
    if not names:
        target, why = guess(found, error)
        names, result["guess"] = [target], {"target": target, "why": why}
    recompressor, draw = images
    thumbnails = Thumbnails(draw)
    pages = set(result.get("error", {}).get("codes", ()))
    result["targets"] = [
        inspect_for(found.conversation, name, pages, recompressor, thumbnails) for name in names
    ]
    codes = {one["code"] for target in result["targets"] for one in target.get("findings", ())}
    result["rules"] = {code: _rule(code) for code in sorted(codes | pages)}
    return result


def _rule(code: str) -> dict[str, str]:
    manual = manuals()[code]
    return {"name": manual.name, "summary": manual.summary, "manual": manual.prose}


def _copy(
    what: str, found: Recognised, error: str, target: str, recompressor: Recompressor | None
) -> str:
    from chatmend.inspect.inspection import repaired  # noqa: PLC0415 - next to its use

    if what not in _COPIES or found.conversation is None:
        raise ValueError(f"copy {what!r}: one of {', '.join(_COPIES)}, of a conversation")
    is_request = isinstance(found.conversation, dict)
    if what == "python":
        return python_snippet(target, is_request=is_request)
    if what == "command":
        return command_line(target, is_request=is_request)
    new, changes = repaired(found.conversation, target, recompressor)
    if what == "report":
        codes = explain_error(error, None)["codes"] if error else ()
        return redacted_report(found.conversation, target, changes, codes)
    return json.dumps(new, ensure_ascii=False, indent=2)
