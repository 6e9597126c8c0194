"""docs/api.md says what the API does."""

import re
from pathlib import Path

from django.urls import URLPattern

from smarter.apps.api.urls import urlpatterns

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text("utf-8")
_CODE = re.compile(r"""(?:Refused|problem_response)\(\s*\d{3},\s*(?:code=)?"(\w+)\"""")


def test_every_address_is_on_the_page() -> None:
    for route in urlpatterns:
        assert isinstance(route, URLPattern)
        path = "/" + str(route.pattern).replace("<str:", "{").replace(">", "}")
        last = path.rpartition("/")[2]
        assert path in PAGE or f"…/{last}" in PAGE, path


def test_every_code_is_on_the_page() -> None:
    sources = [*(ROOT / "smarter/apps/api").rglob("*.py"), *(ROOT / "smarter/apps/resources").rglob("*.py")]
    codes = {code for source in sources for code in _CODE.findall(source.read_text("utf-8"))}
    assert len(codes) > 10
    assert {code for code in codes if f"`{code}`" not in PAGE} == set()
