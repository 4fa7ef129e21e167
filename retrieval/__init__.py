"""From a question to cited passages and checked answers.

In: a question, in a namespace. Out: passages with their positions, answers, and their forms for
agents and other protocols. May import documents and ragsite's platform, never evaluation.
"""
