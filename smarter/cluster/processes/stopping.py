"""How a container is ended: its hook, SIGTERM, and SIGKILL when the grace period is over. `container.py` uses it.

The hook's time counts against the grace period, as in Kubernetes; a process whose hook used all of it still gets two
seconds after the signal.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from smarter.cluster.processes.process import Process

_LEAST_SECONDS = 2.0


class Stopping:
    def __init__(
        self, hook: float | Callable[[], str | None] | None, now: float, grace_seconds: float, pool: ThreadPoolExecutor
    ) -> None:
        self._deadline = now + grace_seconds
        self._signal_at = now + hook if isinstance(hook, float) else now
        self._hook: Future[str | None] | None = pool.submit(hook) if callable(hook) else None
        self._signalled = False

    def step(self, now: float, process: Process) -> None:
        if not self._signalled:
            if now < self._deadline and (now < self._signal_at or (self._hook and not self._hook.done())):
                return
            process.terminate()
            self._signalled = True
            self._deadline = max(self._deadline, now + _LEAST_SECONDS)
        elif now >= self._deadline:
            process.kill()
