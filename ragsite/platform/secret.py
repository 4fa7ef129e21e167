"""A string that is hidden when the object that contains it is printed."""


class Secret(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "'…'" if self else "''"
