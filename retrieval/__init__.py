"""Answer questions with cited passages."""
