"""HTML and EPUB: the main content as blocks."""
