"""From a text and its structure to passages with exact spans, in four steps:

    Block ──sections──▶ Run ──atoms──▶ Atom ──packing──▶ Draft ──base──▶ Passage

- `Block` (documents.passages): a heading, paragraph, list, code block or table, from the extractor.
- `Run`: neighbouring blocks under one heading and on one page, with their heading paths; nothing
  crosses its ends. grouping.py joins runs that fit one passage together.
- `Atom`: a span of a run that stays in one piece (a sentence, an item, a line), with its tokens.
- `Draft`: a range of a run's atoms, which knows what it repeats of the draft before it.
- `Passage` (documents.passages): its text, span, tokens, headings and attributes, final.

Each splitter (structure, fixed, semantic, llm: methods.py) only decides which atoms make a draft;
base.py does the rest. context_headers.py adds the headings that a passage is embedded with. Plain
Python: may import documents.text, documents.passages, documents.embedders and
documents.language_models.
"""
