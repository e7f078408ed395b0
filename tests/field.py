"""Repairs the failures that people reported in public threads, and judges by content whether the cause is gone.

python -m tests.field [-v] [ID...]

The reported bodies are passed to ``repair_request`` without a wire format. A case is repaired when the cause that
the provider named is no longer in the body, every text that must be kept is sent or in a reported change, and no judge
refuses the result. One that needs the provider's answer counts as not repaired unless the body alone repairs it. With
``-v`` the reasons and the changes are printed. Exit status 1 when fewer than 99 are repaired.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import chatmend
from tests import corpus
from tests.field_causes import Sent, cause_of
from tests.field_turns import messages_of
from tests.judges import judge
from tests.judges.bedrock_model import converse_faults

if TYPE_CHECKING:
    from chatmend.repair import RepairedRequest

WANTED = 134
ABRIDGED = {
    "F071": "web_search_call without its action: the report names the item, and does not quote it"
}
"""Bodies that would be refused for what the reporter left out: only the cause is judged."""
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")


def cases() -> list[dict[str, Any]]:
    """The reported failures; none where the corpus is absent."""
    return corpus.rows("field_cases")


def is_refused(case: dict[str, Any]) -> bool:
    """Whether the predicate for a case sees the cause in the body that was refused: else it would prove nothing."""
    return cause_of(case)(_sent(case, case["body"]))


def faults(case: dict[str, Any]) -> list[str]:
    """Why a case is not repaired; nothing when it is."""
    try:
        done = chatmend.repair_request(case["body"], case["target"])
    except Exception as error:  # noqa: BLE001 - counted, not hidden
        return [f"exception: {type(error).__name__}: {error}"]
    found = [f"still there: {class_of(case)}"] if cause_of(case)(_sent(case, done.body)) else []
    found += [f"neither sent nor reported: {text}" for text in _lost(case, done)]
    return found if case["id"] in ABRIDGED else found + _refusals(case, done.body)


def class_of(case: dict[str, Any]) -> str:
    """The class of a failure, in words."""
    return cause_of(case).__name__.replace("_", " ")


def _sent(case: dict[str, Any], body: dict[str, Any]) -> Sent:
    return Sent(body, case["format"], case["target"], case["error"])


def _lost(case: dict[str, Any], done: RepairedRequest) -> list[str]:
    held = json.dumps(
        [done.body, [change.before for change in done.changes]], ensure_ascii=False, default=str
    )
    return [text for text in case["kept"] if text not in held]


def _refusals(case: dict[str, Any], body: dict[str, Any]) -> list[str]:
    """What code that is not ours has against a body; nobody judges the native format of Ollama."""
    form, messages = case["format"], messages_of(case["format"], body)
    system = next((body[key] for key in _SYSTEM if body.get(key)), None)
    if form == "bedrock_converse":
        return converse_faults(messages, system)
    return (
        []
        if form == "ollama_chat"
        else judge(form, case["target"], messages, system, body.get("tools"))
    )


def _explain(case: dict[str, Any], found: list[str]) -> None:
    print(f"{case['id']} {case['target']} {case['format']}: {'; '.join(found)[:600] or 'repaired'}")
    for change in chatmend.repair_request(case["body"], case["target"]).changes:
        print(f"     {change.code} {change.effect.name}: {change.why}")


def main() -> int:
    """The table."""
    wanted = [word for word in sys.argv[1:] if word != "-v"]
    if not cases():
        print(
            f"skipped: no failures in {corpus.ROOT / 'field_cases.jsonl'}; $CHATMEND_CORPUS names the directory"
        )
        return 0
    table: dict[tuple[str, str], list[tuple[dict[str, Any], bool]]] = defaultdict(list)
    for case in cases():
        if wanted and case["id"] not in wanted:
            continue
        assert is_refused(case), (
            f"{case['id']}: the predicate for {class_of(case)} accepts what the provider refused"
        )
        found = faults(case)
        if "-v" in sys.argv:
            _explain(case, found)
        table[case["provider"], class_of(case)].append((case, not found))
    for (provider, kind), rows in sorted(table.items()):
        print(f"{sum(good for _, good in rows):4} of {len(rows):2}  {provider:16} {kind}")
        for case, good in rows:
            if not good:
                needs = "" if case["needs"] == "body" else f", needs {case['needs']}"
                print(f"{'':12}not repaired: {case['thread']} ({case['id']}{needs})")
    judged = [good for rows in table.values() for _, good in rows]
    print(f"{sum(judged)} of {len(judged)} repaired; at least {WANTED} of 152 are wanted")
    return 1 if not wanted and sum(judged) < WANTED else 0


if __name__ == "__main__":
    sys.exit(main())
