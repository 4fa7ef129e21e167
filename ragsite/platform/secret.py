"""A string that is not shown when the thing that holds it is printed."""


class Secret(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "'…'" if self else "''"
