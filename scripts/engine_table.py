#!/usr/bin/env python3
"""Write docs/engines.md from the code: what each field of an LLMHost does on each engine.

Run it after a change of an engine, a source or a rule. With --check nothing is written, and the program ends with 1 and
a diff where the page is not what the code gives.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "engines.md"
sys.path.insert(0, str(ROOT))

from scripts.engine_docs.page import page  # noqa: E402 - the checkout is not on the path before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    text = page()
    before = PAGE.read_text() if PAGE.exists() else ""
    if text == before:
        return 0
    if check:
        diff = difflib.unified_diff(before.splitlines(), text.splitlines(), "docs/engines.md", "the code", lineterm="")
        print("\n".join(diff))
        return 1
    PAGE.write_text(text)
    print("wrote docs/engines.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
