"""Programs that measure the speed of search, and the ranking on judged questions."""
