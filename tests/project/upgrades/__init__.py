"""Data that earlier releases made, and whether they survive the way to the newest."""
