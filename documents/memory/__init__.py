"""Memory: takes statements, and stores the facts that follow from them, isolated by tenant.

Statements are only written by `writing.remember`. `rules/` decides, in plain Python, which facts
follow from a set of statements; `slots` updates the stored facts accordingly; `erasing` removes
facts for good. May import models, accounts, jobs, ingestion, profiles, metering and text.
"""
