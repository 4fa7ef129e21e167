"""Reports: runs and experiments as tables, charts and files.

In: stored runs, comparisons, results of experiments. Out: text, HTML, SVG and PNG. Nothing below
imports it; commands and admin pages do.
"""
