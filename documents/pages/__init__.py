"""Pages for people: a signed link in, the cited passage inside its document out. Built on the
models and on nothing of the API."""
