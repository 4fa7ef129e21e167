"""Find numbers and dates in answers and passages, compare them, and report conflicts.

In: texts and evidence. Out: values, conflicts, uncertainties. Plain Python; may import values of
retrieval.answering and nothing else of retrieval.
"""
