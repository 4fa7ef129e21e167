"""Replace the role names in a dump by those of this server.

Owners, grants and policies name roles. Only such statements are changed, never the data.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

_ROLE = rb'("(?:[^"]|"")+"|\w+)'
_STATEMENTS = (
    re.compile(rb"^(ALTER .* OWNER TO )" + _ROLE + rb"(;\s*)$"),
    re.compile(
        rb"^((?:GRANT|REVOKE) .* (?:TO|FROM) )" + _ROLE + rb"((?: WITH GRANT OPTION)?;\s*)$"
    ),
    re.compile(rb"^(CREATE POLICY .*? TO )" + _ROLE + rb"( (?:USING|WITH CHECK) .*)$", re.DOTALL),
)
_COPY = re.compile(rb"^COPY .* FROM stdin;\s*$")
# A parameter that PostgreSQL 16 and older do not know and that a restore does not need.
_UNKNOWN = b"SET transaction_timeout "


def renamed(lines: Iterable[bytes], names: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the dump's lines with each role renamed; the rows of tables are passed through."""
    encoded = {_plain(was): _quoted(now) for was, now in names.items()}
    in_rows = False
    for line in lines:
        if in_rows:
            in_rows = line.rstrip(b"\r\n") != b"\\."
            yield line
        elif _COPY.match(line):
            in_rows = True
            yield line
        elif not line.startswith(_UNKNOWN):
            yield _rename(line, encoded)


def _rename(line: bytes, names: Mapping[bytes, bytes]) -> bytes:
    for statement in _STATEMENTS:
        if found := statement.match(line):
            role = found[2]
            if role.startswith(b'"'):
                role = role[1:-1].replace(b'""', b'"')
            return found[1] + names.get(role, found[2]) + found[3]
    return line


def _plain(name: str) -> bytes:
    return name.encode()


def _quoted(name: str) -> bytes:
    return b'"' + name.replace('"', '""').encode() + b'"'
