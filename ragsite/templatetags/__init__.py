"""Template tags: `{% load operator_kit %}`.

In: values of templates. Out: HTML. May import ragsite.platform and ragsite.web.
"""
