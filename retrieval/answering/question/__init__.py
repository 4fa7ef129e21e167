"""The question before it is searched for: standalone, expanded, in other words. Plain Python."""
