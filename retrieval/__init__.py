"""From a question to cited passages."""
