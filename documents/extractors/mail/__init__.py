"""E-mail messages: .eml and Outlook's .msg."""
