"""Break up the control tokens of chat templates in text that is data.

Some servers tokenize `<|im_start|>` in a message as the token itself, so text that contains it
could end its own message and start another, whatever the prompt says. A space keeps it text.
"""

import re

_CONTROL = re.compile(
    r"""
    <\|[^|<>\s]{1,40}\|>                      # <|im_start|>, <|eot_id|>, <|endoftext|>
    | <｜[^｜<>]{1,40}｜>                      # DeepSeek's, with full-width bars
    | \[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]
    | <</?SYS>>
    | </?(?:s|bos|eos|start_of_turn|end_of_turn|think|tool_call|tool_response)>
    """,
    re.VERBOSE | re.IGNORECASE,
)


def neutralised(text: str) -> str:
    """Return text that reads the same but contains no token of a chat template."""
    return _CONTROL.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)
