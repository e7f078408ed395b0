"""A callback that does nothing, for the proxy that `bench_proxy` compares with.

LiteLLM prepares log records only if there is a callback, as each proxy with a database has one.
"""

from litellm.integrations.custom_logger import CustomLogger

callback = CustomLogger()
