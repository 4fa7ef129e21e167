"""Writers of answers: the interface, and the built-in extractive one. Plain Python."""
