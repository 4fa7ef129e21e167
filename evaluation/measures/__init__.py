"""What counts as found, and figures from rankings. Plain Python."""
