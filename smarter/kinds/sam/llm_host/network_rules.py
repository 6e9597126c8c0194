"""Rules about how an LLMHost is reached. Whose a host name is depends on the account: see `check`."""

import re

from smarter.core.problems import Problem, warning
from smarter.kinds.sam.llm_host.host import Host, block

_HOSTNAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII
)
_PATH = "spec.network"


def network_problems(host: Host) -> list[Problem]:
    network = block(host.spec.network)
    problems = []
    if network.hostname is not None and not _HOSTNAME.fullmatch(network.hostname.lower()):
        words = "A host name has labels of letters, digits and inner hyphens, joined by dots, as chat.example.com."
        problems.append(Problem("hostname", f"{_PATH}.hostname", words))
    if network.hostname is not None and not network.ingress:
        problems.append(warning("no_effect", f"{_PATH}.hostname", "Without ingress: true this has no effect."))
    return problems + _authentication_problems(host)


def _authentication_problems(host: Host) -> list[Problem]:
    network, engine = block(host.spec.network), host.engine
    problems = []
    if network.allowUnauthenticated and not network.ingress:
        words = "Without ingress: true this has no effect."
        problems.append(warning("no_effect", f"{_PATH}.allowUnauthenticated", words))
    if network.allowUnauthenticated and network.apiKeySecret is not None:
        words = "This contradicts apiKeySecret: either clients must send a key, or they need not."
        problems.append(Problem("contradiction", f"{_PATH}.allowUnauthenticated", words))
    if engine.authenticates:
        return problems
    if network.ingress and not network.allowUnauthenticated:
        words = (
            f"{engine.name} does not ask for keys, so whoever knows the host name could use the model. Set this to "
            "true if that is wanted."
        )
        problems.append(Problem("unauthenticated", f"{_PATH}.allowUnauthenticated", words))
    if network.apiKeySecret is not None:
        words = f"{engine.name} cannot check a key."
        problems.append(Problem("no_authentication", f"{_PATH}.apiKeySecret", words))
    return problems
