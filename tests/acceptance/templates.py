"""Chat templates that raise, as open-weight servers run them.

Our own short Jinja templates: they keep only the `raise_exception` conditions
of the published ones, because the rendered prompt is of no interest here.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from .base import Request

_PAIRS = """
{%- set ns = namespace(open=[], prev='') -%}
{%- for m in messages -%}
  {%- if m.role == 'tool' and m.tool_call_id not in ns.open -%}
    {{ raise_exception('tool message ' ~ loop.index0 ~ ' without its call before it') }}
  {%- elif m.role != 'tool' -%}
    {%- set ns.open = (m.tool_calls or []) | map(attribute='id') | list -%}
  {%- endif -%}
{%- endfor -%}
"""
_SYSTEM_FIRST = """
{%- for m in messages -%}
  {%- if m.role in ('system', 'developer') and not loop.first -%}
    {{ raise_exception('system message must be at the beginning') }}
  {%- endif -%}
{%- endfor -%}
"""
_STRICT = _PAIRS + """
{%- set ns = namespace(user=true, prev='') -%}
{%- set rest = messages[1:] if messages and messages[0].role == 'system' else messages -%}
{%- for m in rest -%}
  {%- if m.role not in ('user', 'assistant', 'tool') -%}
    {{ raise_exception('role ' ~ m.role ~ ' at ' ~ loop.index0 ~ ' is not supported') }}
  {%- endif -%}
  {%- if m.role == 'user' and ns.prev == 'tool' -%}
    {{ raise_exception('user message directly after a tool message') }}
  {%- endif -%}
  {%- if m.role == 'user' or (m.role == 'assistant' and not m.tool_calls) -%}
    {%- if (m.role == 'user') != ns.user -%}
      {{ raise_exception('roles must alternate user/assistant/user/assistant/...') }}
    {%- endif -%}
    {%- set ns.user = not ns.user -%}
  {%- endif -%}
  {%- if m.role == 'assistant' and m.tool_calls and loop.first -%}
    {{ raise_exception('the first message must be from the user') }}
  {%- endif -%}
  {%- set ns.prev = m.role -%}
{%- endfor -%}
{%- if not rest or rest[-1].role not in ('user', 'tool') -%}
  {{ raise_exception('the last message must be from user or tool') }}
{%- endif -%}
"""
_NINE = """
{%- for m in messages -%}
  {%- for id in (m.tool_calls or []) | map(attribute='id') | list + ([m.tool_call_id] if m.role == 'tool' else []) -%}
    {%- if not id is string or id | length != 9 or not id.isalnum() -%}
      {{ raise_exception('tool call ids must be alphanumeric strings of length 9') }}
    {%- endif -%}
  {%- endfor -%}
{%- endfor -%}
"""
_GEMMA = """
{%- for m in messages -%}
  {%- if m.role in ('system', 'developer') -%}{{ raise_exception('System role not supported') }}{%- endif -%}
  {%- if (m.role == 'user') != (loop.index0 % 2 == 0) -%}
    {{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
  {%- endif -%}
{%- endfor -%}
"""
_QWEN = _SYSTEM_FIRST + """
{%- if not messages | selectattr('role', 'equalto', 'user') | list -%}
  {{ raise_exception('No user query found in messages.') }}
{%- endif -%}
"""
_LLAMA = """
{%- for m in messages -%}
  {%- if m.tool_calls and m.tool_calls | length != 1 -%}
    {{ raise_exception('This model only supports single tool-calls at once!') }}
  {%- endif -%}
{%- endfor -%}
"""
_GPT_OSS = """
{%- set ns = namespace(called=false) -%}
{%- for m in messages -%}
  {%- if m.role == 'tool' and not ns.called -%}
    {{ raise_exception('Message has tool role, but there was no previous assistant message with a tool call!') }}
  {%- elif m.role == 'assistant' -%}{%- set ns.called = (m.tool_calls or []) | length > 0 -%}
  {%- endif -%}
{%- endfor -%}
"""
_VLLM = (
    ("gemma", _GEMMA),
    (r"qwen-?3\.5", _QWEN),
    ("llama-?3", _LLAMA),
    ("gpt-oss", _GPT_OSS),
    (r"mistral-7b", _STRICT + _NINE),
)


def template_for(target: str) -> str | None:
    """The template a target runs, None when its template never raises."""
    if target == "strict":
        return _STRICT
    if target.startswith("hosted_vllm/"):
        return next((text for name, text in _VLLM if re.search(name, target, re.I)), None)
    return None


@cache
def _compiled(source: str) -> Any:
    from jinja2.exceptions import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def raise_exception(message: str) -> None:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment()
    environment.globals["raise_exception"] = raise_exception
    return environment.from_string(source)


def check(req: Request) -> list[str]:
    """Render for the exceptions only."""
    from jinja2.exceptions import TemplateError

    try:
        _compiled(template_for(req.target) or "").render(messages=req.chat)
    except TemplateError as error:
        return [str(error)]
    return []
