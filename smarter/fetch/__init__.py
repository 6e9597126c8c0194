"""The program that brings weights to a volume. It imports nothing else of Smarter; run it with `python -m`."""
