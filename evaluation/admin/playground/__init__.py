"""The playground: one question under one or two configurations, with the details of every
candidate.

In: a namespace, a question, and the options of POST /query. Out: a page. May import everything that
`evaluation.admin` may.
"""
