"""E-mail messages: .eml and Outlook's .msg. Bodies in HTML are read by the html room."""
