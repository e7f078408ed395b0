"""TRL's own trainers prepare, collate and learn from a sample of usable rows.

    python -m benchmarks.scale.trl_trains repaired/ 200

Runs in an environment with TRL and the CPU build of PyTorch; imports nothing of chatmend. The
models have random weights and a vocabulary of bytes, so nothing is downloaded.
"""

from __future__ import annotations

import json
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import trl
from datasets import Dataset
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer
from trl.data_utils import maybe_convert_to_chatml

TEMPLATE = Path(trl.__file__).parent / "chat_templates" / "qwen3_training.jinja"
IGNORED = -100
"""The label of a token that is not learnt."""
BATCH = 8
ROLES = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}
"""Roles of ShareGPT. TRL converts its keys, not its names of roles, and would learn nothing."""


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer of bytes, with a chat template that marks the text of the assistant."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(BPE({letter: at for at, letter in enumerate(letters)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    found = PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token="<|im_end|>",  # noqa: S106 - not a secret
        pad_token="<|endoftext|>",  # noqa: S106 - not a secret
        additional_special_tokens=["<|im_start|>"],
    )
    found.chat_template = TEMPLATE.read_text("utf-8")
    return found


def model(size: int) -> Qwen3ForCausalLM:
    """Return a model with random weights."""
    config = Qwen3Config(
        vocab_size=size, hidden_size=16, intermediate_size=16, head_dim=8,
        num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
    )  # fmt: skip
    return Qwen3ForCausalLM(config)


def rows(folder: Path, kind: str, most: int) -> list[dict[str, Any]]:
    """Return the first usable rows of a kind, with the arguments of calls as objects."""
    found: list[dict[str, Any]] = []
    for path in sorted((folder / kind).glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            found += map(json.loads, islice(lines, most - len(found)))
    return [prepared(row) for row in found]


def prepared(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row as TRL's documentation asks for it."""
    del row["id"], row["is_broken"]
    example: dict[str, Any] = maybe_convert_to_chatml(row)
    for messages in example.values():
        for message in messages:
            message["role"] = ROLES.get(message["role"], message["role"])
            for call in message.get("tool_calls") or ():
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return example


def options(folder: str) -> dict[str, Any]:
    """Return the arguments that both trainers have."""
    return {
        "output_dir": folder, "per_device_train_batch_size": BATCH, "max_steps": 1,
        "max_length": None, "use_cpu": True, "bf16": False, "report_to": "none",
        "save_strategy": "no", "disable_tqdm": True, "gradient_checkpointing": False,
    }  # fmt: skip


def sft(examples: list[dict[str, Any]], folder: str) -> None:
    """Check that ``SFTTrainer`` learns something from the assistant of every row."""
    words = tokenizer()
    trainer = SFTTrainer(
        model=model(len(words)),
        args=SFTConfig(assistant_only_loss=True, **options(folder)),
        train_dataset=Dataset.from_list(examples, on_mixed_types="use_json"),
        processing_class=words,
    )
    assert len(trainer.train_dataset) == len(examples)
    for batch in trainer.get_train_dataloader():
        learnt = (batch["labels"] != IGNORED).sum(dim=1)
        assert bool((learnt > 0).all()), "nothing to learn in a row"
    trainer.train()


def dpo(examples: list[dict[str, Any]], folder: str) -> None:
    """Check that ``DPOTrainer`` finds a completion in both answers of every row."""
    words = tokenizer()
    trainer = DPOTrainer(
        model=model(len(words)),
        ref_model=model(len(words)),
        args=DPOConfig(**options(folder)),
        train_dataset=Dataset.from_list(examples, on_mixed_types="use_json"),
        processing_class=words,
    )
    assert len(trainer.train_dataset) == len(examples)
    for batch in trainer.get_train_dataloader():
        assert bool((batch["completion_mask"].sum(dim=1) > 0).all()), "an empty completion"
    trainer.train()


def main(folder: Path, most: int) -> None:
    """Check a sample of each kind."""
    with tempfile.TemporaryDirectory() as work:
        for kind, check in (("trl", sft), ("sharegpt", sft), ("dpo", dpo)):
            examples = rows(folder, kind, most)
            check(examples, work)
            print(f"TRL {trl.__version__} learns from {len(examples)} rows of {kind}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
