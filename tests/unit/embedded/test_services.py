"""The database and queue start, are attached to, keep their secrets, and stop."""

import os
import pwd
import socket
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from smarter.cli import embedded
from smarter.cli.embedded import state
from smarter.core.errors import PermanentError
from tests.unit.embedded.observing import ask_queue, command_lines, pids, postmasters, query

pytestmark = pytest.mark.xdist_group("embedded")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


def test_both_answer_with_the_given_addresses(state_dir: Path) -> None:
    services = embedded.start_services(state_dir)
    assert query(services, "SELECT current_user, current_database(), getdatabaseencoding()") == [
        ("smarter", "smarter", "UTF8")
    ]
    assert ask_queue(services, "PING", "SET k v", "GET k") == ["+PONG", "+OK", "v"]


def test_the_application_is_no_superuser_but_can_make_databases(state_dir: Path) -> None:
    services = embedded.start_services(state_dir)
    assert query(services, "SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user") == [(False, True)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        query(services, "COPY (SELECT 1) TO PROGRAM 'true'")


def test_wrong_passwords_are_refused(state_dir: Path) -> None:
    services = embedded.start_services(state_dir)
    password = urlsplit(services.database_url).password or ""
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(services.database_url.replace(password, "wrong"))
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(services.database_url.replace("smarter:", "postgres:", 1).replace(password, ""))
    password = urlsplit(services.broker_url).password or ""
    wrong = embedded.Services("", services.broker_url.replace(password, "wrong"))
    assert ask_queue(wrong, "PING")[0].startswith("-NOAUTH")


def test_a_second_start_attaches(state_dir: Path) -> None:
    first = embedded.start_services(state_dir)
    before = pids(state_dir)
    assert embedded.start_services(state_dir) == first
    assert pids(state_dir) == before
    assert len(postmasters(state_dir)) == 1


def test_stopping_leaves_no_process_and_no_open_port_and_keeps_the_data(state_dir: Path) -> None:
    services = embedded.start_services(state_dir)
    query(services, "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 42 AS value")
    ask_queue(services, "SET kept 42")
    ports = [urlsplit(url).port or 0 for url in (services.database_url, services.broker_url)]
    assert [listens(port) for port in ports] == [True, True]
    embedded.stop_services(state_dir)
    assert pids(state_dir) == {}
    assert postmasters(state_dir) == []
    assert [listens(port) for port in ports] == [False, False]
    embedded.stop_services(state_dir)
    again = embedded.start_services(state_dir)
    assert again == services
    assert query(again, "SELECT value FROM kept") == [(42,)]
    assert ask_queue(again, "GET kept") == ["42"]


def test_a_port_that_somebody_took_meanwhile_is_replaced(state_dir: Path) -> None:
    services = embedded.start_services(state_dir)
    embedded.stop_services(state_dir)
    ports = [urlsplit(url).port or 0 for url in (services.database_url, services.broker_url)]
    with socket.create_server(("127.0.0.1", ports[0])), socket.create_server(("127.0.0.1", ports[1])):
        again = embedded.start_services(state_dir)
        assert urlsplit(again.database_url).port not in ports
        assert query(again, "SELECT 1") == [(1,)]
        assert ask_queue(again, "PING") == ["+PONG"]


def test_files_are_private(state_dir: Path, account: pwd.struct_passwd) -> None:
    embedded.start_services(state_dir)
    home = Path(state.load(state_dir).home)
    assert mode(state_dir / "state.json") == "0o600"
    assert mode(home / "valkey" / "valkey.conf") == "0o600"
    assert {mode(path) for path in (home / "postgres", home / "postgres" / "data", home / "valkey")} == {"0o700"}
    assert {mode(path) for path in (state_dir / "logs").iterdir()} == {"0o600"}
    assert (state_dir / "state.json").stat().st_uid == os.geteuid()
    assert (home / "postgres" / "data").stat().st_uid == account.pw_uid


def test_no_secret_is_in_an_argument_or_a_log(state_dir: Path) -> None:
    services = embedded.start_services(state_dir)
    query(services, "DROP TABLE IF EXISTS once; CREATE TABLE once (v text PRIMARY KEY)")
    with psycopg.connect(services.database_url, autocommit=True) as connection:
        for _ in range(2):
            with pytest.raises(psycopg.Error):
                connection.execute("INSERT INTO once VALUES ('row-secret-1'), ('row-secret-1')")
    secrets = [urlsplit(url).password or "" for url in (services.database_url, services.broker_url)]
    seen = command_lines() + "".join(path.read_text() for path in (state_dir / "logs").iterdir())
    assert "duplicate key value" in seen
    assert [secret for secret in (*secrets, "row-secret-1") if secret in seen] == []
    assert all(secret not in repr(services) for secret in secrets)


def test_writes_are_safe_against_power_loss_unless_asked_otherwise(state_dir: Path) -> None:
    shown = "SELECT current_setting('fsync'), current_setting('full_page_writes')"
    embedded.stop_services(state_dir)
    assert query(embedded.start_services(state_dir), shown) == [("on", "on")]
    embedded.stop_services(state_dir)
    services = embedded.start_services(state_dir, fast=True)
    assert query(services, shown) == [("off", "off")]
    embedded.stop_services(state_dir)


def test_a_damaged_state_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"home": ')
    with pytest.raises(PermanentError, match=r"state\.json is damaged"):
        embedded.start_services(tmp_path)


def test_stopping_where_nothing_was_started_makes_nothing(tmp_path: Path) -> None:
    embedded.stop_services(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
