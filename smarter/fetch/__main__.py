"""`python -m smarter.fetch`: brings the weights of one model to a volume, in a pod of its own.

Standard library only, so that it runs in any small image. Tokens come from the environment (or a file that it names),
never from arguments, which every process list shows. Exit codes are in `errors`; the last line says the reason.
"""

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from smarter.fetch import volume
from smarter.fetch.errors import FetchError
from smarter.fetch.pace import Pace
from smarter.fetch.progress import Progress
from smarter.fetch.run import Job, fetch, verified
from smarter.fetch.transfer import Context
from smarter.fetch.web import Rules, Token, parse

# Per source: the variable with the token.
TOKEN_ENV = {"huggingface": "HF_TOKEN", "ollama": "", "pvc": "", "s3": "S3_KEYS", "url": "FETCH_TOKEN"}


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="smarter.fetch", description=__doc__, allow_abbrev=False)
    parser.add_argument("--source", required=True, choices=sorted(TOKEN_ENV))
    parser.add_argument(
        "--repository",
        required=True,
        help="a hub's owner/name, a URL, s3://bucket/prefix, a model:tag, or a path within the volume",
    )
    parser.add_argument("--target", required=True, type=Path, help="the folder to fill; for pvc the mount itself")
    parser.add_argument("--revision", default="main", help="branch, tag or commit of a hub repository")
    parser.add_argument("--file", help="one file of the repository, or the name that a URL's file gets")
    parser.add_argument("--sha256", help="checksum that a URL's file must have")
    parser.add_argument("--hub-url", default="https://huggingface.co", help="the hub or a mirror of it")
    parser.add_argument("--registry-url", default="https://registry.ollama.ai", help="Ollama's registry or a mirror")
    parser.add_argument(
        "--layout", default="files", choices=("files", "registry"), help="how the hub's model shall lie"
    )
    parser.add_argument("--unpack", action="store_true", help="the URL's file is a tar archive of the model's folder")
    parser.add_argument("--parallel", type=int, default=4, choices=range(1, 17), metavar="1-16")
    parser.add_argument("--attempts", type=int, default=8, help="failures in a row before giving up")
    parser.add_argument("--backoff-seconds", type=float, default=1.0, help="pause after the first failure")
    parser.add_argument("--stall-seconds", type=float, default=60.0, help="silence that counts as a failure")
    parser.add_argument("--progress-seconds", type=float, default=5.0)
    parser.add_argument("--verify", action="store_true", help="bring nothing, only look whether everything is there")
    parser.add_argument("--allow-http", action="store_true", help="also fetch without TLS")
    parser.add_argument("--allow-private", action="store_true", help="also fetch from private and loopback addresses")
    parser.add_argument("--termination-log", type=Path, default=Path("/dev/termination-log"))
    return parser


def main(argv: list[str] | None = None) -> int:
    options = arguments().parse_args(argv)
    # As process 1 of a container a program without a handler would not hear this signal at all.
    signal.signal(signal.SIGTERM, _terminated)
    # The engine may run as another user than this program.
    os.umask(0o022)
    secret = _secret(TOKEN_ENV[options.source])
    last_words = options.termination_log if options.termination_log.exists() else None
    progress = Progress(interval_seconds=options.progress_seconds, secrets=(secret,), last_words=last_words)
    try:
        complete = _run(options, secret, progress)
    except FetchError as fault:
        progress.end("error", reason=fault.reason, message=fault.message)
        return fault.exit_code
    progress.end("complete", **complete)
    return 0


def _terminated(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _secret(name: str) -> str:
    """The token of the environment, or of the file that `<name>_FILE` names; '' without one."""
    if not name:
        return ""
    path = os.environ.get(f"{name}_FILE")
    value = os.environ.get(name, "")
    if path and not value:
        try:
            value = Path(path).read_text()
        except (OSError, UnicodeDecodeError):
            return ""
    value = value.strip()
    return value if value.isascii() and value.isprintable() else ""


def _run(options: argparse.Namespace, secret: str, progress: Progress) -> dict[str, object]:
    if options.source == "pvc":
        volume.require_present(options.target, options.repository, options.file)
        return {"repository": options.repository}
    job = _job(options)
    marker = verified(job) if options.verify else fetch(job, _context(options, secret, progress))
    files = marker["files"]
    return {"revision": marker["revision"], "files": len(files), "bytes": sum(entry["size"] for entry in files)}


def _job(options: argparse.Namespace) -> Job:
    return Job(
        source=options.source,
        repository=options.repository,
        target=options.target.absolute(),
        revision=options.revision if options.source == "huggingface" and options.layout == "files" else "",
        file=options.file,
        sha256=options.sha256.lower() if options.sha256 else None,
        hub_url=options.hub_url,
        registry_url=options.registry_url,
        layout=options.layout,
        unpack=options.unpack,
        parallel=options.parallel,
    )


def _context(options: argparse.Namespace, secret: str, progress: Progress) -> Context:
    rules = Rules(options.allow_http, options.allow_private, options.stall_seconds)
    env = TOKEN_ENV[options.source]
    pace = Pace(options.attempts, options.backoff_seconds)
    context = Context(rules, pace, progress, env, secret=secret)
    address = {"huggingface": options.hub_url, "url": options.repository}.get(options.source)
    if secret and address:
        context.token = Token(parse(address, rules).origin, env, secret)
    return context


def _exit_now() -> None:
    """Ends the process without waiting for threads; what they leave behind is safe to go on from at any point."""
    try:
        code = main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _exit_now()
