"""Tables and structured data: CSV, JSON, notebooks, and the tables of Office files."""
