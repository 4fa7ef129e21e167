"""PDF files. extractor.py puts the steps together: lines, layout, headings, tables, scans."""
