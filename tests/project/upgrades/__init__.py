"""Data that earlier releases made, and whether they survive the way to the newest."""

# The last commit of each release that is looked back to.
RELEASES = {"0.2.0": "c0ff265852fd707e34dbf510bb4f80813435fb60"}
