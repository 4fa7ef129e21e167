"""POST /v1/chat/completions: the last message is a question, answered from the documents."""
