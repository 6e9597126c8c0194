"""Starts one control plane in a folder, from certificates to ready nodes; called by `up` under the folder's lock."""

import base64
import json
import secrets
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.cluster.control_plane import certificates, crds, kwok, nodes, objects, processes, state, versions
from tests.cluster.control_plane.api import Api, wait_until
from tests.cluster.control_plane.state import State
from tests.cluster.control_plane.versions import ControlPlaneError

IDENTITIES = {  # user name to its group; each gets a token and a kubeconfig of its own
    "admin": "system:masters",
    "kwok": "system:masters",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
}
READY_SECONDS = 60
KUBECTL_CACHE = "kubectl-cache"


@dataclass
class Launch:
    """A start under way: each process is written to state.json at once, so that an interrupted start can be undone."""

    folder: Path
    programs: dict[str, Path]
    state: State
    api: Api
    etcd_port: int
    kwok_port: int

    def run(self, name: str, *arguments: str) -> None:
        process = processes.start(name, [str(self.programs[name]), *arguments], self.folder)
        self.state = self.state.with_process(process)
        state.save(self.folder, self.state)

    def check_alive(self) -> None:
        for process in state.dead(self.state):
            tail = processes.log_tail(self.folder, process.name)
            raise ControlPlaneError(
                f"{process.name} ended at start; the end of its log in {self.folder / 'logs'}:\n{tail}"
            )

    def wait(self, what: str, check: Any) -> None:
        def alive_and_so() -> bool:
            self.check_alive()
            return bool(check())

        wait_until(what, alive_and_so, READY_SECONDS)

    def kubectl_apply(self, *arguments: str, text: str | None = None) -> None:
        cache = str(self.folder / KUBECTL_CACHE)
        command = [str(self.programs["kubectl"]), "--kubeconfig", self.state.kubeconfig, "--cache-dir", cache]
        command += ["apply", "--server-side", *arguments]
        result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise ControlPlaneError(f"kubectl apply {' '.join(arguments)} failed: {result.stderr.strip()[-1500:]}")


def launch(folder: Path, version: str, programs: dict[str, Path], counts: dict[str, int]) -> State:
    start = prepare(folder, version, programs)
    start_server(start)
    start_controllers(start)
    install(start, version, counts)
    start_kwok(start)
    wait_for_nodes(start, sum(counts.values()))
    finished = replace(start.state, ready=True)
    state.save(folder, finished)
    return finished


def prepare(folder: Path, version: str, programs: dict[str, Path]) -> Launch:
    etcd_port, server_port, kwok_port = processes.free_ports(3)
    certificates.make(folder / "pki")
    server = f"https://127.0.0.1:{server_port}"
    tokens = {name: secrets.token_hex(16) for name in IDENTITIES}
    write_secret(
        folder / "tokens.csv", "".join(f'{tokens[name]},{name},{name},"{IDENTITIES[name]}"\n' for name in IDENTITIES)
    )
    for name, token in tokens.items():
        write_secret(kubeconfig_path(folder, name), kubeconfig(server, token, folder / "pki" / "ca.crt"))
    first = State(version, server, str(kubeconfig_path(folder, "admin")), str(programs["kube-apiserver"].parent))
    state.save(folder, first)
    api = Api(server, tokens["admin"], folder / "pki" / "ca.crt")
    return Launch(folder, programs, first, api, etcd_port, kwok_port)


def kubeconfig_path(folder: Path, identity: str) -> Path:
    return folder / f"{identity.removeprefix('system:')}.kubeconfig"


def write_secret(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)


def kubeconfig(server: str, token: str, authority: Path) -> str:
    """As JSON, which is YAML too; it holds all it needs, so it can be copied elsewhere."""
    name = "smarter-test"
    data = base64.b64encode(authority.read_bytes()).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": data}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(document, indent=2) + "\n"


def start_server(start: Launch) -> None:
    pki = start.folder / "pki"
    etcd = f"http://127.0.0.1:{start.etcd_port}"
    peer = "http://127.0.0.1:0"
    start.run(
        "etcd",
        *("--data-dir", str(start.folder / "etcd"), "--unsafe-no-fsync", "--log-level", "error"),
        *("--listen-client-urls", etcd, "--advertise-client-urls", etcd),
        *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"),
    )
    start.run(
        "kube-apiserver",
        *("--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", start.api.server.rpartition(":")[2]),
        *("--tls-cert-file", str(pki / "server.crt"), "--tls-private-key-file", str(pki / "server.key")),
        *("--client-ca-file", str(pki / "ca.crt"), "--token-auth-file", str(start.folder / "tokens.csv")),
        *("--service-account-key-file", str(pki / "service-accounts.key")),
        *("--service-account-signing-key-file", str(pki / "service-accounts.key")),
        *("--service-account-issuer", "https://kubernetes.default.svc", "--authorization-mode", "Node,RBAC"),
        *(
            "--endpoint-reconciler-type",
            "none",
            "--allow-privileged=true",
            "--service-cluster-ip-range",
            "10.96.0.0/16",
        ),
        *("--kubelet-preferred-address-types", "InternalIP"),
    )
    start.wait("kube-apiserver ready", start.api.is_ready)


def start_controllers(start: Launch) -> None:
    pki = start.folder / "pki"
    fast = ("--leader-elect=false", "--secure-port", "0", "--kube-api-qps", "500", "--kube-api-burst", "1000")
    start.run(
        "kube-controller-manager",
        *("--kubeconfig", str(kubeconfig_path(start.folder, "system:kube-controller-manager"))),
        *(
            "--service-account-private-key-file",
            str(pki / "service-accounts.key"),
            "--root-ca-file",
            str(pki / "ca.crt"),
        ),
        *("--use-service-account-credentials=true", "--concurrent-deployment-syncs", "20", *fast),
    )
    start.run(
        "kube-scheduler",
        *("--kubeconfig", str(kubeconfig_path(start.folder, "system:kube-scheduler")), *fast),
    )


def install(start: Launch, version: str, counts: dict[str, int]) -> None:
    for document in nodes.documents(counts):
        start.api.create("/api/v1/nodes", document)
    start.kubectl_apply("-f", str(crds.folder(version)), "--force-conflicts")
    extras = [*objects.storage(), objects.mark(list(kwok.FATES))]
    served = start.api.get("/apis/admissionregistration.k8s.io/v1")["resources"]
    if any(resource["name"] == "mutatingadmissionpolicies" for resource in served):
        extras += objects.unschedulable_policy()
    start.kubectl_apply("-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": extras}))


def start_kwok(start: Launch) -> None:
    start.wait("the CRDs are served", lambda: crds.all_served(start.api))
    address = f"127.0.0.1:{start.kwok_port}"
    pki = start.folder / "pki"
    start.run(
        "kwok",
        *("--kubeconfig", str(kubeconfig_path(start.folder, "kwok")), "--server-address", address, "--v", "WARN"),
        *("--config", str(kwok.write(start.folder, start.kwok_port))),
        *("--node-ip", "127.0.0.1", "--node-port", str(start.kwok_port)),
        *("--tls-cert-file", str(pki / "server.crt"), "--tls-private-key-file", str(pki / "server.key")),
    )


def wait_for_nodes(start: Launch, count: int) -> None:
    """Ready, and without the taint that the node lifecycle controller gives to nodes that were not."""

    def usable() -> bool:
        ready = [node for node in start.api.get("/api/v1/nodes")["items"] if is_usable(node)]
        return len(ready) == count

    start.wait(f"{count} nodes are Ready", usable)
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    start.wait("the default ServiceAccount is there", lambda: start.api.request("GET", account)[0] == 200)


def is_usable(node: dict[str, Any]) -> bool:
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"].get("conditions", []))
    taints = [taint["key"] for taint in node["spec"].get("taints", [])]
    return ready and "node.kubernetes.io/not-ready" not in taints


def start_watcher(folder: Path, current: State, owner_pid: int) -> State:
    """A process that stops the control plane when its owner is gone, however the owner ended."""
    script = versions.HERE.parents[2] / "scripts" / "control_plane"
    owner = processes.start_time(owner_pid)
    if owner is None:
        raise ControlPlaneError(f"there is no process {owner_pid} to stop together with")
    command = [
        sys.executable,
        str(script),
        "watch",
        "--state",
        str(folder),
        "--owner",
        str(owner_pid),
        "--owner-started",
        owner,
    ]
    watched = current.with_process(processes.start("watcher", command, folder))
    state.save(folder, watched)
    return watched
