"""Why a fetch ended without the weights. The reasons are read by the observer of the pod, so they are stable."""

EXIT_CODES = {
    "failed": 1,
    "bad_url": 2,
    "bad_path": 2,
    "cloud_model": 2,
    "unauthorized": 3,
    "gated": 3,
    "not_found": 4,
    "checksum_mismatch": 5,
    "disk_full": 6,
    "stalled": 7,
    "unreachable": 7,
    "rate_limited": 7,
    "forbidden_address": 8,
    "bad_certificate": 9,
    "bad_answer": 10,
    "incomplete": 11,
    "bad_archive": 12,
}


class FetchError(Exception):
    """The end of this fetch. `message` is for people and never holds a token or the query of an address."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message

    @property
    def exit_code(self) -> int:
        return EXIT_CODES.get(self.reason, 1)


class Broken(Exception):
    """This attempt failed in a way that another attempt may cure; `retry_after_seconds` is what the server asks for."""

    def __init__(self, reason: str, message: str, retry_after_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds


class Stopped(Exception):
    """Another file's fault ended the whole fetch; this one stops quietly."""
