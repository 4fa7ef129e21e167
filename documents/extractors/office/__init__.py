"""Office files: Word, slides, spreadsheets, OpenDocument, RTF."""
