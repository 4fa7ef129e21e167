"""From a question to an answer whose every citation was checked against the stored text.

In: an AnswerRequest of one namespace. Out: events (sources, checked text, citations, and one
AnswerResult at the end). `answer.py` is the pipeline; `requests.py` the values that travel between
its steps. The steps themselves (prompt, extractive, markers, quotes, values, support, conflicts)
are plain Python. May import retrieval.search and what is below it, never a door.
"""
