"""How many queries a request costs. A number that rises is a decision, not an accident."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from smarter.apps.clusters.models import Cluster
from tests.api.conftest import Caller
from tests.db.resources.toys import gadget

pytestmark = pytest.mark.django_db


@pytest.fixture
def warm(ann: Caller, cluster: Cluster) -> Caller:
    """The key has been used and the account's quota row is there."""
    ann.apply(gadget("first", shelf="oak"))
    return ann


@contextmanager
def counted(most: int) -> Iterator[None]:
    with CaptureQueriesContext(connection) as queries:
        yield
    # Savepoints stand for the transactions of production, which cost no query of their own there.
    sent = [query["sql"] for query in queries.captured_queries if "SAVEPOINT" not in query["sql"]]
    assert len(sent) <= most, "\n".join(sent)


@pytest.mark.parametrize(
    ("act", "most"),
    [
        (lambda who: who.apply(gadget("lamp")), 12),
        (lambda who: who.apply(gadget("first", shelf="oak", size=2)), 13),
        (lambda who: who.apply(gadget("first", shelf="oak")), 10),
        (lambda who: who.get("/gadgets/first"), 6),
        (lambda who: who.get("/gadgets"), 6),
        (lambda who: who.get("/whoami"), 1),
        (lambda who: who.get("/kinds"), 0),
    ],
    ids=["create", "change", "unchanged", "get", "list", "whoami", "kinds"],
)
def test_queries(warm: Caller, act: Callable[[Caller], object], most: int) -> None:
    with counted(most):
        act(warm)


def test_a_list_of_a_hundred_costs_what_a_list_of_one_costs(warm: Caller) -> None:
    for start in (0, 50):
        response = warm.apply(*[gadget(f"g{number}", uses="first") for number in range(start, start + 50)])
        assert response.status_code == 200
    with counted(7):
        assert len(warm.get("/gadgets?limit=100").json()["items"]) == 100
