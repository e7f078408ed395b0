"""Golden transcripts: broken ones, and the bytes that each target is sent after the repair.

``python -m tests.golden.pinned`` writes the repaired forms again. A changed byte costs a user a cached prefix if a
session is open, so mention the change in CHANGELOG.md, under *Repaired output*. Images are left out; their bytes
depend on the version of Pillow.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chatmend

FOLDER = Path(__file__).parent
TARGETS = {
    "openai_chat": (
        "openai/gpt-4o",
        "anthropic/claude-sonnet-4-5",
        "gemini/gemini-2.5-flash",
        "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
        "mistral/open-mistral-7b",
        "deepseek/deepseek-chat",
        "strict",
    ),
    "anthropic_messages": ("anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-8"),
}


@dataclass(frozen=True)
class Golden:
    """A broken transcript with its recorded repaired forms."""

    path: Path
    dialect: str
    messages: list[Any]
    repaired: dict[str, Any]

    def now(self, target: str) -> Any:
        """What a repair gives today."""
        return chatmend.repair(self.messages, target, dialect=self.dialect).messages

    def write(self) -> None:
        """Record the repaired forms. A target that receives the transcript unchanged has none."""
        forms = {target: self.now(target) for target in TARGETS[self.dialect]}
        changed = {target: form for target, form in forms.items() if form is not self.messages}
        told = {"dialect": self.dialect, "messages": self.messages, "repaired": changed}
        self.path.write_text(json.dumps(told, indent=1) + "\n", "utf-8")


def goldens() -> list[Golden]:
    """All of them."""
    return [_read(path) for path in sorted(FOLDER.glob("*.json"))]


def _read(path: Path) -> Golden:
    told = json.loads(path.read_text("utf-8"))
    return Golden(path, told["dialect"], told["messages"], told["repaired"])


def bytes_of(messages: Any) -> str:
    """What goes over the wire: the order of keys counts."""
    return json.dumps(messages)


if __name__ == "__main__":
    for golden in goldens():
        golden.write()
