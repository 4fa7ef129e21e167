"""Writers of answers: the interface, and the built-in extractive writer. Plain Python."""
