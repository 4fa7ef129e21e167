"""Template tags: `{% load operator_kit %}`."""
