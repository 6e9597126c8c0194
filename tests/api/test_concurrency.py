"""Many writers at once, each with a connection of its own. These tests commit, so they take longer than others."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from smarter.apps.resources.audit import first_break
from smarter.apps.resources.models import AuditEvent, Hostname, Resource
from tests.api.conftest import Caller
from tests.db.resources.toys import gadget

pytestmark = pytest.mark.django_db(transaction=True)
WRITERS = 50
# Fewer threads than writers, so that on a slow machine nobody waits for the lock as long as its timeout; each still
# meets others in the middle of a write.
THREADS = 8


def at_once(act: Any, count: int) -> list[Any]:
    def run(number: int) -> Any:
        try:
            response = act(number)
            # On a machine that is busy with other things somebody may wait too long for the account's lock. Nothing
            # was stored then, and the answer says to come back.
            while response.status_code == 503 and response.json()["code"] == "busy":
                response = act(number)
            return response
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(count)))


def test_of_many_writers_with_one_version_exactly_one_wins(ann: Caller) -> None:
    for round_number in range(3):
        ann.apply(gadget(size=90))
        etag = ann.get("/gadgets/lamp")["ETag"]
        before = Resource.for_account(ann.account).get().generation
        found = at_once(lambda number, etag=etag: ann.apply(gadget(size=20 + number), If_Match=etag), WRITERS)
        assert Counter(response.status_code for response in found) == {200: 1, 412: WRITERS - 1}, round_number
        winner = next(response for response in found if response.status_code == 200)
        row = Resource.for_account(ann.account).get()
        assert (row.generation, row.resource_version) == (
            before + 1,
            int(winner.json()["results"][0]["resourceVersion"]),
        )


def test_writers_without_a_version_all_count_and_the_trail_has_each(ann: Caller) -> None:
    found = at_once(lambda number: ann.apply(gadget(size=20 + number)), WRITERS)
    assert {response.status_code for response in found} == {200}
    versions = [response.json()["results"][0]["resourceVersion"] for response in found]
    assert len(set(versions)) == WRITERS
    actions = Counter(response.json()["results"][0]["action"] for response in found)
    assert actions == {"created": 1, "changed": WRITERS - 1}
    assert Resource.for_account(ann.account).get().generation == WRITERS
    assert AuditEvent.for_account(ann.account).count() == WRITERS
    assert first_break(ann.account) is None


def test_first_applies_of_one_name_make_one_manifest(ann: Caller) -> None:
    found = at_once(lambda number: ann.apply(gadget(f"g{number % 5}")), 30)
    assert {response.status_code for response in found} == {200}
    assert Resource.for_account(ann.account).count() == 5


def test_two_accounts_race_for_one_host_name(ann: Caller, ben: Caller) -> None:
    both = (ann, ben)
    for number in range(10):
        host = f"h{number}.example.com"
        found = at_once(lambda which, host=host, number=number: both[which].apply(gadget(f"g{number}", host=host)), 2)
        assert sorted(response.status_code for response in found) == [200, 409]
    assert Hostname.all_accounts.count() == 10


def test_applies_and_deletes_of_one_name_never_fail_in_between(ann: Caller) -> None:
    def act(number: int) -> Any:
        return ann.delete("/gadgets/lamp") if number % 3 == 0 else ann.apply(gadget(size=20 + number))

    assert {response.status_code for response in at_once(act, 60)} <= {200, 202, 404, 409}
    assert first_break(ann.account) is None
