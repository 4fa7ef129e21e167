"""Change to a user without rights, if started by root and if that user can read the code."""

import os
import pwd
from dataclasses import dataclass

from documents.extractors.confinement import kernel


@dataclass(frozen=True, slots=True)
class Identity:
    uid: int
    gid: int
    name: str

    @classmethod
    def find(cls, user: str) -> "Identity":
        """Look up a user by name or number, which need not exist. LookupError for unknown names."""
        if user.isdecimal():
            return cls(int(user), int(user), user)
        entry = pwd.getpwnam(user)
        return cls(entry.pw_uid, entry.pw_gid, user)

    def assume(self) -> None:
        """Change the user for good, leaving no other groups and no capabilities."""
        os.setgroups([])
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)
        kernel.drop_capabilities()


def can_change_user() -> bool:
    return os.geteuid() == 0
