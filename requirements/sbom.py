"""Write the bill of materials of what the service runs on: CycloneDX 1.6, JSON, with licences.

    python requirements/sbom.py PYTHON OUTPUT

PYTHON is the environment's interpreter. What is there only for tests and tools is left out:
locked.txt and torch.txt say what counts. Run by `make sbom`.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from audit import pins  # beside this file


def main(python: str, output: str) -> int:
    program = Path(sys.executable).with_name("cyclonedx-py")
    command = [str(program), "environment", "--pyproject", "pyproject.toml", "--validate"]
    command += ["--output-reproducible", "--sv", "1.6", python]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if made.returncode:
        return made.returncode
    bill = only_needed(json.loads(made.stdout), {normal(name) for name, _ in pins()})
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bill, indent=2) + "\n")
    print(f"{len(bill['components'])} components in {output}", file=sys.stderr)  # noqa: T201
    return 0


def only_needed(bill: dict[str, Any], names: set[str]) -> dict[str, Any]:
    components = [each for each in bill["components"] if normal(each["name"]) in names]
    refs = {each["bom-ref"] for each in components}
    refs.add(bill["metadata"]["component"]["bom-ref"])
    dependencies = [
        {**each, "dependsOn": [ref for ref in each.get("dependsOn", []) if ref in refs]}
        for each in bill.get("dependencies", [])
        if each["ref"] in refs
    ]
    return {**bill, "components": components, "dependencies": dependencies}


def normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
