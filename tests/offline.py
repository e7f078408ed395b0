"""Environment variables that keep libraries from asking the internet, which would cost a test its time and its result.

boto3 without credentials asks the metadata service of Amazon's machines. LiteLLM fetches prices and settings when it is imported. To count the tokens of a Llama model it loads a tokenizer from
Hugging Face; without network that takes 46 seconds of retries. They must be set before either is imported.
"""

from __future__ import annotations

import os

OFFLINE = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS": "True",
}


def go_offline() -> None:
    """Set the variables for this process and its children."""
    os.environ.update(OFFLINE)
