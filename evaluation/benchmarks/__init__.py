"""Measurements that are run by hand: `make bench-…`. Each takes its data by `--data PATH`."""
