"""Environment variables that keep libraries from asking the internet, which would cost a test its time and its result.

boto3 without credentials asks the metadata service of Amazon's machines. LiteLLM fetches prices and settings when it is imported. To count the tokens of a Llama model it loads a tokenizer from
Hugging Face; without network that takes 46 seconds of retries. They must be set before either is imported.

Each HTTP client reads the certificates that it trusts, which takes longer than most tests. No test uses TLS, so the
clients read a file with one certificate, whose private key was not kept.
"""

from __future__ import annotations

import os
from pathlib import Path

OFFLINE = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS": "True",
    "SSL_CERT_FILE": str(Path(__file__).with_name("authority.pem")),
}


def go_offline() -> None:
    """Set the variables for this process and its children."""
    os.environ.update(OFFLINE)
