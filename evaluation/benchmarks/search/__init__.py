"""Programs that measure search: its speed, and how good the ranking is on judged questions."""
