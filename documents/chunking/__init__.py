"""Split a text and its structure into passages with exact spans, in four steps:

    Block ──sections──▶ Run ──atoms──▶ Atom ──packing──▶ Draft ──base──▶ Passage

- `Block` (documents.passages): a heading, paragraph, list, code block or table, from the extractor.
- `Run`: neighbouring blocks under one heading and on one page, with their heading paths. No
  passage crosses the end of a run. grouping.py joins runs that fit in one passage.
- `Atom`: a span of a run that is never split (a sentence, an item, a line), with its token count.
- `Draft`: a range of a run's atoms, including any overlap with the previous draft.
- `Passage` (documents.passages): the result, with text, span, tokens, headings and attributes.

Each splitter (structure, fixed, semantic, llm; see methods.py) only decides which atoms form a
draft; base.py does the rest. context_headers.py adds the headings that are embedded with a
passage. Plain Python: may import documents.text, documents.passages, documents.embedders and
documents.language_models.
"""
