"""Web pages and EPUB books. In: HTML. Out: the main content as text and blocks."""
