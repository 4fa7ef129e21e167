"""Memory: statements come in, and the facts that follow from them are kept, behind the tenant wall.

`writing.remember` is the one way in. `rules/` decides, in plain Python, which facts a set of
statements makes; `slots` brings the stored facts in line with that; `erasing` removes for good. May
import models, accounts, jobs, ingestion, profiles, metering and text.
"""
