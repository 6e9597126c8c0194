"""A corpus of kubeconfigs: the few that are used, and the many ways to have something run, opened or trusted."""

import base64
import copy
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from smarter.cluster.kubeconfig import read_kubeconfig
from smarter.cluster.kubernetes import connection_from_kubeconfig
from smarter.core.errors import PermanentError
from tests.unit.cluster import certificates

CANARY = "canary-4711"
AUTHORITY, KEY = certificates.self_signed("authority")


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _good() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "one", "user": "me"}}],
        "clusters": [
            {
                "name": "one",
                "cluster": {
                    "server": "https://k8s.example.com:6443",
                    "certificate-authority-data": _encoded(AUTHORITY),
                },
            }
        ],
        "users": [{"name": "me", "user": {"token": CANARY}}],
    }


def _changed(part: str, **changes: Any) -> str:
    """The good one with changes in its `cluster`, `user` or `context`; None takes a key away."""
    config = copy.deepcopy(_good())
    entry = config[f"{part}s"][0][part]
    for key, value in changes.items():
        entry[key.replace("_", "-")] = value
        if value is None:
            del entry[key.replace("_", "-")]
    return yaml.safe_dump(config)


def _with(**changes: Any) -> str:
    return yaml.safe_dump({**_good(), **{key.replace("_", "-"): value for key, value in changes.items()}})


GOOD = {
    "token": yaml.safe_dump(_good()),
    "client certificate": _changed(
        "user",
        token=None,
        **{"client-certificate-data": _encoded(AUTHORITY), "client-key-data": _encoded(KEY)},
    ),
    "server name": _changed("cluster", tls_server_name="kubernetes.default"),
    "loopback": _changed("cluster", server="https://127.0.0.1:6443"),
    "verification asked for": _changed("cluster", insecure_skip_tls_verify=False),
    "another entry that is not used": _with(users=[*_good()["users"], {"name": "x", "user": {"exec": {}}}]),
    "namespace in the context": _changed("context", namespace="default"),
}
BAD = {
    "exec": (_changed("user", token=None, exec={"command": "touch", "args": ["/tmp/x"]}), "exec"),
    "exec beside a token": (_changed("user", exec={"command": "touch"}), "exec"),
    "auth-provider": (_changed("user", auth_provider={"name": "gcp"}), "auth-provider"),
    "token file": (_changed("user", token=None, tokenFile="/etc/passwd"), "tokenFile"),
    "certificate by path": (_changed("user", client_certificate="/etc/passwd"), "client-certificate"),
    "key by path": (_changed("user", client_key="/etc/passwd"), "client-key"),
    "authority by path": (_changed("cluster", certificate_authority="/etc/passwd"), "certificate-authority"),
    "proxy": (_changed("cluster", proxy_url="http://proxy.example.com"), "proxy-url"),
    "no verification": (_changed("cluster", insecure_skip_tls_verify=True), "insecure-skip-tls-verify"),
    "password": (_changed("user", username="me", password=CANARY), "password"),
    "impersonation": (_changed("user", **{"as": "system:admin"}), "as"),
    "unknown key of a cluster": (_changed("cluster", socks="x"), "socks"),
    "plain http": (_changed("cluster", server="http://k8s.example.com"), "https"),
    "plain http on loopback": (_changed("cluster", server="http://127.0.0.1:8001"), "https"),
    "another scheme": (_changed("cluster", server="file:///etc/passwd"), "https"),
    "credentials in the address": (_changed("cluster", server="https://me:pass@k8s.example.com"), "address"),
    "metadata service": (_changed("cluster", server="https://169.254.169.254"), "link-local"),
    "metadata service as IPv6": (_changed("cluster", server="https://[::ffff:169.254.169.254]"), "link-local"),
    "unspecified address": (_changed("cluster", server="https://0.0.0.0"), "unspecified"),
    "query in the address": (_changed("cluster", server="https://k8s.example.com/?a=b"), "address"),
    "no server": (_changed("cluster", server=None), "server"),
    "server that is a list": (_changed("cluster", server=["a"]), "server"),
    "no authority": (_changed("cluster", certificate_authority_data=None), "certificate-authority-data"),
    "authority that is no base64": (_changed("cluster", certificate_authority_data="!"), "certificate-authority-data"),
    "authority that is no certificate": (
        _changed("cluster", certificate_authority_data=_encoded(KEY)),
        "certificate-authority-data",
    ),
    "no credentials": (_changed("user", token=None), "token"),
    "token with a line break": (_changed("user", token="a\nX-Evil: b"), "token"),
    "certificate without key": (
        _changed("user", token=None, client_certificate_data=_encoded(AUTHORITY)),
        "belong together",
    ),
    "no such context": (_with(current_context="other"), "context"),
    "no such user": (_changed("context", user="other"), "users"),
    "no contexts": (_with(contexts=None), "contexts"),
    "no YAML": (f"a: [{CANARY}", "YAML"),
    "a YAML tag": (f"!!python/object/apply:os.system ['touch {CANARY}']", "YAML"),
    "text": (CANARY, "map"),
    "too long": ("#" * 300_000, "characters"),
    "nested without end": ("[" * 5000, "YAML"),
}


@pytest.mark.parametrize("case", GOOD)
def test_good(case: str) -> None:
    connection, problems = read_kubeconfig(GOOD[case])
    assert problems == []
    assert connection is not None
    assert connection.server.startswith("https://")
    assert CANARY not in repr(connection)
    assert "PRIVATE" not in repr(connection)


@pytest.mark.parametrize("case", BAD)
def test_bad(case: str) -> None:
    text, word = BAD[case]
    connection, problems = read_kubeconfig(text)
    assert connection is None
    listed = "; ".join(str(problem) for problem in problems)
    assert word in listed
    assert CANARY not in listed


class Watch:
    """What Python does beside thinking. A hook cannot be taken back, so there is one for all cases."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and (event == "open" or event.startswith(("subprocess", "os.exec", "os.system", "socket"))):
            self.seen.append(f"{event} {arguments[:1]}")


WATCH = Watch()


def _seen_while(text: str) -> list[str]:
    WATCH.seen.clear()
    WATCH.on = True
    try:
        read_kubeconfig(text)
    finally:
        WATCH.on = False
    return list(WATCH.seen)


@pytest.mark.parametrize("case", [*GOOD, *BAD])
def test_nothing_is_run_or_opened(case: str) -> None:
    assert _seen_while(GOOD.get(case) or BAD[case][0]) == []


def test_the_watch_sees() -> None:
    WATCH.on = True
    Path(__file__).read_text()
    WATCH.on = False
    assert WATCH.seen


def test_all_problems_at_once() -> None:
    config = yaml.safe_load(_changed("user", exec={}, tokenFile="x"))
    config["clusters"][0]["cluster"]["proxy-url"] = "http://x"
    _, problems = read_kubeconfig(yaml.safe_dump(config))
    assert {problem.path.rpartition(".")[2] for problem in problems} == {"exec", "tokenFile", "proxy-url"}


def test_plain_loopback_needs_a_flag() -> None:
    text = _changed("cluster", server="http://127.0.0.1:8001", certificate_authority_data=None)
    connection, problems = read_kubeconfig(text, allow_plain_loopback=True)
    assert problems == []
    assert connection is not None
    assert read_kubeconfig(_changed("cluster", server="http://10.0.0.1"), allow_plain_loopback=True)[0] is None


def test_one_error_for_all() -> None:
    with pytest.raises(PermanentError) as refused:
        connection_from_kubeconfig(_changed("user", exec={}, tokenFile="x"))
    assert refused.value.reason == "Invalid"
    assert "exec" in refused.value.message
    assert "tokenFile" in refused.value.message
