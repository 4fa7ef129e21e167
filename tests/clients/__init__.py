"""The Python client and the recipes, against a real server."""
