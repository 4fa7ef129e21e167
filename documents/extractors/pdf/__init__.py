"""PDF: text, layout, headings, tables, scans."""
