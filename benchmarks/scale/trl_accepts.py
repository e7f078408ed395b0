"""TRL's own functions accept every usable row.

    python -m benchmarks.scale.trl_accepts repaired/ 0

Runs in an environment with TRL and transformers; unlike ``trl_trains`` it needs no PyTorch. It
imports nothing of chatmend.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import trl
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast
from trl.data_utils import (
    apply_chat_template,
    is_conversational,
    maybe_convert_to_chatml,
    maybe_extract_prompt,
)

TEMPLATE = Path(trl.__file__).parent / "chat_templates" / "qwen3_training.jinja"


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer with a chat template; its vocabulary does not matter."""
    words = Tokenizer(WordLevel({"<unk>": 0}, unk_token="<unk>"))  # noqa: S106 - not a secret
    found = PreTrainedTokenizerFast(tokenizer_object=words)
    found.chat_template = TEMPLATE.read_text("utf-8")
    return found


def check(row: dict[str, Any], template: PreTrainedTokenizerFast) -> None:
    """Prepare a row as TRL's trainers do: convert, find the prompt, apply the chat template."""
    del row["id"], row["is_broken"]
    example = maybe_extract_prompt(maybe_convert_to_chatml(row))
    assert is_conversational(example)
    for messages in example.values():
        for message in messages:
            for call in message.get("tool_calls") or ():
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    done = apply_chat_template(example, template)
    assert all(text for text in done.values())


def main(folder: Path, half: int) -> None:
    """Check every second file of a folder."""
    template, count = tokenizer(), 0
    for kind in ("trl", "sharegpt", "dpo"):
        for path in sorted((folder / kind).glob("*.jsonl"))[half::2]:
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    check(json.loads(line), template)
                    count += 1
    print(f"TRL {trl.__version__} accepts {count:,} rows")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
