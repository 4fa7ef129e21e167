"""The REST API of golden sets, runs and feedback.

In: requests with API keys. Out: JSON. Views validate, call golden and runs, and serialise. May
import everything in `evaluation` except the admin.
"""
