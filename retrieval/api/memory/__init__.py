"""Memory over the API: searching facts, acts on one fact, erasure, rules and aliases."""
