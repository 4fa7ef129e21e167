"""The equivalent API call to copy: for a shell, and for Python with ragsite-client."""

import json
import pprint
import shlex
from collections.abc import Mapping
from typing import Any

WIDTH = 88


def curl(url: str, body: Mapping[str, Any]) -> str:
    sent = shlex.quote(json.dumps(body, ensure_ascii=False, indent=2))
    return (
        f"curl -sS {shlex.quote(f'{url}/api/v1/query')} \\\n"
        '  -H "Authorization: Bearer $RAGSITE_API_KEY" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  --data {sent}"
    )


def python(url: str, body: Mapping[str, Any]) -> str:
    options = dict(body)
    query = options.pop("query")
    lines = [f"        {_literal(query)},"]
    lines += [f"        {name}={_literal(value)}," for name, value in options.items()]
    arguments = "\n".join(lines)
    return (
        "from ragsite_client import Client\n\n"
        "# The key comes from RAGSITE_API_KEY.\n"
        f"with Client({_literal(url)}) as client:\n"
        f"    found = client.query(\n{arguments}\n    )\n"
        "    for passage in found.results:\n"
        "        print(passage.title, passage.content)\n"
    )


def _literal(value: Any) -> str:
    return pprint.pformat(value, width=WIDTH, sort_dicts=False).replace("\n", "\n        ")
