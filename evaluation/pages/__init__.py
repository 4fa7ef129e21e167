"""What people say of an answer on the page that asks. Thin doors to evaluation.golden."""
