"""Web pages and EPUB books: their main content as text and blocks."""
