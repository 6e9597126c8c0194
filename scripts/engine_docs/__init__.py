"""The tables of docs/engines.md, made by running the rules and the renderer. See scripts/engine_table.py."""
