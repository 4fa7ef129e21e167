"""Answer a question, with every citation checked against the stored text.

Takes an AnswerRequest of one namespace and yields events (sources, checked text, citations, and one
AnswerResult at the end). `answer.py` is the pipeline; `requests.py` has the values passed between
its steps. The steps (prompt, extractive, markers, quotes, values, support, conflicts) are plain
Python. May import retrieval.search and what is below it, but not the API, the tools or the
commands.
"""
