"""Experiments: ablations, recall of vector indexes, two profiles side by side."""
