"""Facts as search finds them."""
