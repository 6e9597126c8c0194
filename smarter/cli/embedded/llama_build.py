"""Builds llama.cpp's server from the source distribution of llama-cpp-python into the user's cache, for
`scripts/llama_server`.

A build that was interrupted goes on where it was. Nothing but the finished program gets the final name.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from smarter.cli.embedded import llama_server
from smarter.core.errors import PermanentError

SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
TOOLS = {"cmake": "cmake==4.4.5", "ninja": "ninja==1.13.2"}
"""Programs and the packages that bring them where the machine has none."""
PROGRESS_SECONDS = 15.0
NO_COMPILER = "NoCompiler"
OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release",
    # The kernels in C at full speed; the server in C++ less so, which halves the time of the build.
    "-DCMAKE_C_FLAGS_RELEASE=-O3 -DNDEBUG",
    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DGGML_NATIVE=OFF",
    "-DGGML_OPENMP=OFF",
    "-DGGML_CCACHE=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_OPENSSL=OFF",
)
_GENTLY = ("/usr/bin/nice", "-n", "10")
_STEP = re.compile(rb"\[(\d+)/(\d+)\]")


def say(text: str) -> None:
    sys.stderr.write(f"llama-server: {text}\n")
    sys.stderr.flush()


def ensure() -> Path:
    """The program, built if there is none. PermanentError says what is missing."""
    found = llama_server.find()
    if found is not None:
        return found.path
    folder = llama_server.cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "lock"):
        target = llama_server.built_path()
        if not os.access(target, os.X_OK):
            build(folder, target)
    return target


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One build at a time; the lock ends with the process that holds it."""
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process that builds it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def build(folder: Path, target: Path) -> None:
    """In `folder`: tools/ and source/ and work/ while it lasts, build.log for who wants to know."""
    require_compiler()
    started = time.monotonic()
    log = folder / "build.log"
    log.unlink(missing_ok=True)
    tools, source, work = folder / "tools", folder / "source", folder / "work"
    if not (tools / "complete").exists():
        make_tools(tools, log)
    if not source.exists():
        bring_source(tools, source, log)
    paths = os.pathsep.join([str(tools / "bin"), os.environ.get("PATH", os.defpath)])
    env = {**os.environ, "PATH": paths}
    run(["cmake", "-S", str(source), "-B", str(work), "-G", "Ninja", *OPTIONS], "configuring", log, env)
    run(["cmake", "--build", str(work), "--target", llama_server.PROGRAM], "compiling", log, env)
    draft = target.with_name(f".{target.name}.partial")
    shutil.copy2(work / "bin" / llama_server.PROGRAM, draft)
    run([str(draft), "--version"], "trying it", log)
    draft.replace(target)
    for leftover in (tools, source, work):
        shutil.rmtree(leftover, ignore_errors=True)
    say(f"built in {time.monotonic() - started:.0f} s: {target}")


def require_compiler() -> None:
    """CI machines are made for one run, so what is missing there is installed; at a desk that is for the user."""
    if _compiler() is None and os.environ.get("CI") == "true" and shutil.which("apt-get") and os.geteuid() == 0:
        say("installing a C++ compiler with apt-get")
        apt = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "-qq"]
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run([*apt, "update"], env=env, stdout=sys.stderr, check=False)
        subprocess.run([*apt, "install", "-y", "g++"], env=env, stdout=sys.stderr, check=False)
    if _compiler() is None:
        words = (
            "a C++ compiler is needed to build it (once, about 5 minutes on two cores), and was not found.\n"
            "Install one (Debian: apt-get install g++), then run: scripts/llama_server build"
        )
        raise PermanentError(words, reason=NO_COMPILER)


def _compiler() -> str | None:
    """CXX, or what CMake looks for. A compiler for C comes with each of them."""
    names = [name for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++") if name]
    return next((name for name in names if shutil.which(name)), None)


def make_tools(tools: Path, log: Path) -> None:
    """A virtual environment with pip, and with CMake and Ninja where the machine has none."""
    say("preparing the tools")
    shutil.rmtree(tools, ignore_errors=True)
    uv = shutil.which("uv")
    if uv:
        run([uv, "venv", "--quiet", "--seed", "--python", sys.executable, str(tools)], "making an environment", log)
    else:
        run([sys.executable, "-m", "venv", str(tools)], "making an environment", log)
    missing = [package for program, package in TOOLS.items() if shutil.which(program) is None]
    if missing:
        run([*_pip(tools), "install", "--quiet", *missing], "installing the tools", log)
    (tools / "complete").touch()


def bring_source(tools: Path, source: Path, log: Path) -> None:
    """Only what is needed of the source distribution; its checksum is that of the file which was tried."""
    say(f"downloading llama-cpp-python {llama_server.VERSION}")
    draft = source.with_name("source.partial")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    wanted = draft / "wanted.txt"
    wanted.write_text(f"llama-cpp-python=={llama_server.VERSION} --hash=sha256:{SHA256}\n")
    options = ["--no-deps", "--no-binary", ":all:", "--require-hashes", "--dest", str(draft), "-r", str(wanted)]
    run([*_pip(tools), "download", "--quiet", *options], "downloading", log)
    archive = next(draft.glob("*.tar.gz"))
    top = archive.name.removesuffix(".tar.gz")
    inside = f"{top}/vendor/llama.cpp/"
    with tarfile.open(archive) as file:
        members = [member for member in file if member.name.startswith(inside)]
        if hasattr(tarfile, "data_filter"):
            file.extractall(draft, members, filter="data")
        else:
            file.extractall(draft, members)  # noqa: S202 - its checksum is known, and it was looked at
    (draft / inside).rename(source)
    shutil.rmtree(draft)


def _pip(tools: Path) -> list[str]:
    return [str(tools / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input"]


def run(command: Sequence[str], what: str, log: Path, env: Mapping[str, str] | None = None) -> None:
    """Niced, in a process group of its own, which an interruption ends. Says now and then how far it is."""
    started = time.monotonic()
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*_GENTLY, *command],
            env=dict(env) if env is not None else None,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            while (code := _wait(process)) is None:
                say(f"{what}{_steps(log)}, {time.monotonic() - started:.0f} s")
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
    if code != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise PermanentError(f"{what} failed with exit code {code}; {log} ends with:\n{tail}", reason="BuildFailed")


def _wait(process: "subprocess.Popen[bytes]") -> int | None:
    try:
        return process.wait(timeout=PROGRESS_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _steps(log: Path) -> str:
    found = _STEP.findall(log.read_bytes()[-4096:])
    return f" {int(found[-1][0])} of {int(found[-1][1])}" if found else ""


def main(arguments: Sequence[str]) -> int:
    commands = {"build": run_build, "path": run_path, "status": run_status}
    if len(arguments) != 1 or arguments[0] not in commands:
        sys.stderr.write(
            "usage: llama_server build | path | status\n"
            "  build   build it into the cache, once (about 5 minutes on two cores), unless the machine has one\n"
            "  path    print where it is; exit code 1 if it is not there\n"
            "  status  say where it is and which version, or how to get it\n"
        )
        return 0 if arguments in (["--help"], ["-h"]) else 2
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return commands[arguments[0]]()
    except PermanentError as error:
        say(error.message)
        return 3 if error.reason == NO_COMPILER else 1
    except KeyboardInterrupt:
        say("interrupted; the next run goes on from here")
        return 130


def _interrupt(_number: int, _frame: object) -> None:
    """SIGTERM ends a build as tidily as Ctrl-C does."""
    raise KeyboardInterrupt


def run_build() -> int:
    say(f"ready: {ensure()}")
    return 0


def run_path() -> int:
    found = llama_server.find()
    if found is None:
        say(f"not on this machine; get it with: {llama_server.HOW_TO_GET}")
        return 1
    sys.stdout.write(f"{found.path}\n")
    return 0


def run_status() -> int:
    found = llama_server.find()
    if found is None:
        sys.stdout.write(f"not on this machine; get it with: {llama_server.HOW_TO_GET}\n")
        return 1
    answer = subprocess.run([str(found.path), "--version"], capture_output=True, text=True, check=False)
    version = next((line for line in (answer.stdout + answer.stderr).splitlines() if "version" in line), "version: ?")
    sys.stdout.write(f"{found.path} ({found.origin}), {version.strip()}\n")
    return 0
