"""E-mail messages: .eml and Outlook's .msg. HTML bodies are read by the html package."""
