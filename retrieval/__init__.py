"""From a question to cited passages and checked answers.

In: a question, in a namespace. Out: passages with their places, answers, and what agents and other
protocols make of them. May import documents and ragsite's platform, never evaluation.
"""
