"""Memory: rules, statements and facts."""
