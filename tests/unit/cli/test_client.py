"""Exit codes for each kind of answer, what is tried again and what is not, and that a token is never shown."""

import ssl

import httpx
import pytest

from smarter.cli import exit_codes
from tests.unit.cli.conftest import FakeClock, Run
from tests.unit.cli.fake_server import ADDRESS, HOST_YAML, TOKEN, FakeServer, problem, status

REFUSED = httpx.ConnectError("[Errno 111] Connection refused")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (400, exit_codes.REFUSED),
        (401, exit_codes.NOT_ALLOWED),
        (402, exit_codes.CONFLICT),
        (403, exit_codes.NOT_ALLOWED),
        (404, exit_codes.NOT_FOUND),
        (409, exit_codes.CONFLICT),
        (412, exit_codes.CONFLICT),
        (413, exit_codes.REFUSED),
        (415, exit_codes.REFUSED),
        (422, exit_codes.REFUSED),
        (429, exit_codes.FAULT),
        (500, exit_codes.FAULT),
        (502, exit_codes.FAULT),
        (503, exit_codes.FAULT),
    ],
)
def test_the_exit_code_of_each_refusal(run: Run, server: FakeServer, clock: FakeClock, answer: int, code: int) -> None:
    server.routes["GET /api/v1/whoami"] = lambda request: problem(answer, "word", "This is why.")
    done = run("whoami", "-o", "json")
    assert done.code == code
    assert done.err.startswith("error: This is why.")
    assert '"detail": "This is why."' in done.out
    assert "Traceback" not in done.err


def test_a_server_fault_names_its_request(run: Run, server: FakeServer) -> None:
    server.routes["GET /api/v1/whoami"] = lambda request: problem(500, "internal", "Something went wrong.")
    assert "(request r-1)" in run("whoami").err


def test_an_answer_without_a_problem_document(run: Run, server: FakeServer) -> None:
    server.routes["GET /api/v1/whoami"] = lambda request: httpx.Response(500, text="<html>oops</html>")
    done = run("whoami")
    assert (done.code, done.err) == (1, "error: The server answered 500 Internal Server Error.\n")


def test_something_that_is_no_smarter_server(run: Run, server: FakeServer) -> None:
    server.routes["GET /api/v1/whoami"] = lambda request: httpx.Response(200, text="<html>welcome</html>")
    done = run("whoami")
    assert done.code == 8
    assert "Is smarter.example.com a Smarter server?" in done.err


def test_a_redirect_is_not_followed_with_the_token(run: Run, server: FakeServer) -> None:
    elsewhere = {"location": "https://evil.example.net/"}
    server.routes["GET /api/v1/whoami"] = lambda request: httpx.Response(302, headers=elsewhere)
    done = run("whoami")
    assert done.code == 8
    assert "https://evil.example.net/" in done.err
    assert {request.url.host for request in server.requests} == {"smarter.example.com"}


def test_a_read_is_tried_again(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.faults = [REFUSED, httpx.ReadTimeout("slow"), httpx.Response(503), httpx.RemoteProtocolError("cut")]
    assert run("whoami").code == 0
    assert len(server.requests) == 5


def test_a_read_is_given_up_in_the_end(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.faults = [REFUSED] * 100
    done = run("whoami")
    assert done.code == 8
    assert done.err == f"error: {ADDRESS} cannot be reached: the connection was refused.\n"
    assert len(server.requests) < 10


def test_a_write_is_tried_again_only_when_nobody_took_it(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.faults = [REFUSED, REFUSED]
    assert run("apply", "-f", "-", stdin=HOST_YAML).code == 0
    assert len({request.headers["Idempotency-Key"] for request in server.requests}) == 1


@pytest.mark.parametrize("lost", [httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut"), httpx.Response(503)])
def test_a_write_that_may_have_arrived_is_sent_once(
    run: Run, server: FakeServer, clock: FakeClock, lost: Exception | httpx.Response
) -> None:
    server.faults = [lost] * 3
    assert run("apply", "-f", "-", stdin=HOST_YAML).code in (exit_codes.UNREACHABLE, exit_codes.FAULT)
    assert len(server.requests) == 1


def test_a_lost_answer_of_a_write_is_explained(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.faults = [httpx.ReadTimeout("slow")]
    assert "doing it again is safe" in run("apply", "-f", "-", stdin=HOST_YAML).err


def test_a_certificate_that_is_not_trusted_is_told_at_once(run: Run, server: FakeServer, clock: FakeClock) -> None:
    fault = ssl.SSLCertVerificationError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate")
    server.faults = [httpx.ConnectError(str(fault))] * 9
    done = run("whoami")
    assert done.code == 8
    assert "CERTIFICATE_VERIFY_FAILED" in done.err
    assert len(server.requests) == 1


def test_the_missing_token_is_told(anonymous: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMARTER_SERVER", ADDRESS)
    done = anonymous("whoami")
    assert done.code == 3
    assert "No token is known. Log in first: smarter login" in done.err


def test_the_missing_server_is_told(anonymous: Run, server: FakeServer) -> None:
    done = anonymous("get", "llmhosts")
    assert (done.code, server.requests) == (3, [])
    assert "No server is known. Log in first" in done.err


def test_a_wrong_token_is_told_and_not_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMARTER_TOKEN", "sk_wrong_canary")
    done = run("whoami", "-v", "-o", "json")
    assert done.code == 3
    assert "The token is not accepted." in done.err
    assert "canary" not in done.err + done.out


def test_verbose_prints_requests_without_the_token(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.states["h"] = [status("active")]
    server.faults = [REFUSED]
    done = run("get", "llmhosts", "--verbose")
    assert "GET /api/v1/kinds: ConnectError" in done.err
    assert "GET /api/v1/llmhosts?limit=200&offset=0: 200 in " in done.err
    assert TOKEN not in done.err + done.out


def test_options_work_before_and_after_the_command(run: Run, server: FakeServer) -> None:
    assert "GET /api/v1/whoami: 200" in run("-v", "whoami").err
    assert "GET /api/v1/whoami: 200" in run("whoami", "-v").err
    assert run("--server", "https://one.example.com", "whoami", "--server", "https://two.example.com").code == 0
    assert server.requests[-1].url.host == "two.example.com"
