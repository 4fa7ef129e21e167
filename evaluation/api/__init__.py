"""The REST API of golden sets, runs and feedback: thin doors."""
