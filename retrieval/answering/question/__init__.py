"""Prepare the question before the search: make it standalone, expand it, rephrase it. Plain
Python."""
