"""The audit trail: complete, chained, append-only."""

import pytest
from django.db import DatabaseError, connection, transaction

from smarter.apps.clusters.models import Cluster
from smarter.apps.resources import lifecycle
from smarter.apps.resources.audit import first_break
from smarter.apps.resources.models import AuditEvent
from smarter.core.errors import Refused
from tests.db.accounts.builders import Tenant
from tests.db.resources.conftest import Apply
from tests.db.resources.toys import GADGET, gadget, secret

pytestmark = pytest.mark.django_db


def trail(who: Tenant) -> list[tuple[str, str, str]]:
    rows = AuditEvent.for_account(who.account).order_by("seq")
    return list(rows.values_list("verb", "name", "outcome"))


@pytest.fixture
def busy(ann: Tenant, ben: Tenant, cluster: Cluster, apply: Apply) -> Tenant:
    apply(ann, secret(), gadget())
    apply(ben, gadget("other"))
    apply(ann, gadget(size=2))
    apply(ann, gadget(size=2))
    lifecycle.deploy(ann.actor, GADGET, "lamp")
    lifecycle.undeploy(ann.actor, GADGET, "lamp")
    lifecycle.delete(ann.actor, GADGET, "lamp")
    return ann


def test_every_accepted_write_is_in_it_and_nothing_else(busy: Tenant, apply: Apply) -> None:
    with pytest.raises(Refused):
        apply(busy, gadget(size=101))
    apply(busy, gadget(), dry_run=True)
    assert trail(busy) == [
        ("apply", "pass_word", "created"),
        ("apply", "lamp", "created"),
        ("apply", "lamp", "changed"),
        ("apply", "lamp", "unchanged"),
        ("deploy", "lamp", "changed"),
        ("undeploy", "lamp", "changed"),
        ("delete", "lamp", "accepted"),
    ]


def test_the_chain_holds(busy: Tenant, ben: Tenant) -> None:
    assert first_break(busy.account) is None
    assert first_break(ben.account) is None


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE resources_auditevent SET actor = 'somebody' WHERE seq = 3",
        "DELETE FROM resources_auditevent WHERE seq = 3",
        "DELETE FROM resources_auditevent WHERE seq = 7",
    ],
)
def test_harm_done_around_the_trigger_is_found(busy: Tenant, harm: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE resources_auditevent DISABLE TRIGGER USER")
        cursor.execute(harm)
        cursor.execute("ALTER TABLE resources_auditevent ENABLE TRIGGER USER")
    assert first_break(busy.account) in (3, 7)


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE resources_auditevent SET actor = 'somebody'",
        "DELETE FROM resources_auditevent",
        "TRUNCATE resources_auditevent",
    ],
)
def test_the_database_refuses_changes(busy: Tenant, harm: str) -> None:
    with connection.cursor() as cursor:
        # The fixture of the test database switches the guard against TRUNCATE off, which tests need to clean up.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE resources_auditevent ENABLE TRIGGER USER")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(harm)
    assert len(trail(busy)) == 7


def test_no_secret_value_is_in_it(busy: Tenant) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM resources_auditevent a WHERE a::text LIKE '%canary%'")
        assert cursor.fetchone()[0] == 0
