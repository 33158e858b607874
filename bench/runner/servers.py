"""The servers: how each is built, started and looked at."""

import functools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
OUT = BENCH / "out"
RECORD = BENCH / "record.json"


class Unavailable(Exception):
    """A server that this machine can neither build nor install; says why."""


class Server:
    """One server under test: `paths` tells which workloads it can answer."""

    def __init__(self, name, label, prepare, paths, version=lambda: ""):
        self.name = name
        self.label = label
        self.paths = paths
        self.version = ""
        self._prepare = prepare
        self._version = version
        self._command = None
        self.process = None
        self.port = None

    def prepare(self):
        """Builds or installs what is missing; raises Unavailable."""
        self._command = self._prepare()
        self.version = self._version()

    def start(self, core):
        """Starts the server pinned to `core` and waits until it accepts."""
        self.port = free_port()
        command = ["taskset", "-c", str(core), *self._command(self.port)]
        log = open(OUT / f"{self.name}.log", "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        self.stop()
        raise Unavailable(f"did not start, see out/{self.name}.log")

    def stop(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def rss(self):
        """Resident memory of the server process in KiB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        return 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_quietly(command, what, **options):
    """Runs a preparing command; its output matters only when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Unavailable(f"{what} failed: {last}")
    return done.stdout


@functools.cache
def cargo(package, binary=None):
    """Builds one package of the workspace; returns the path of its binary of that name."""
    binary = binary or package
    if not shutil.which("cargo"):
        raise Unavailable("cargo is not installed")
    command = ["cargo", "build", "--release", "--quiet", "--message-format=json", "-p", package]
    for line in run_quietly(command, f"cargo build -p {package}", cwd=BENCH).splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == binary:
            return message["executable"]
    raise Unavailable(f"cargo built no binary {binary}")


def debian(program, package):
    """Finds a program, or installs Debian's package of it when that is allowed."""
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")
    if path:
        return path
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Unavailable(f"{program} is missing: apt-get install {package}")
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    command = ["apt-get", "install", "-y", "--no-install-recommends", package]
    run_quietly(command, f"apt-get install {package}", env=environment)
    path = shutil.which(program, path="/usr/sbin:/usr/bin")
    if not path:
        raise Unavailable(f"{package} brought no {program}")
    return path


def template(name, file, port):
    """Fills in a configuration template; returns where it was written."""
    directory = OUT / name
    directory.mkdir(exist_ok=True)
    text = (BENCH / "peers" / name / file).read_text(encoding="utf-8")
    text = text.replace("@PORT@", str(port)).replace("@DIR@", str(directory))
    (directory / "hello.txt").write_text("Hello, World!", encoding="ascii")
    path = directory / file
    path.write_text(text, encoding="utf-8")
    return str(path)


def rust(package, *arguments):
    def prepare():
        binary = cargo(package)
        return lambda port: [binary, f"127.0.0.1:{port}", *arguments]

    return prepare


def threads():
    binary = cargo("bench-floor", "bench-threads")
    return lambda port: [binary, f"127.0.0.1:{port}"]


def nginx():
    program = debian("nginx", "nginx-light")
    return lambda port: [program, "-p", str(OUT), "-c", template("nginx", "nginx.conf", port)]


def h2o():
    program = debian("h2o", "h2o")
    return lambda port: [program, "-c", template("h2o", "h2o.conf", port)]


def node():
    program = debian("node", "nodejs")
    script = str(BENCH / "peers/node/server.js")
    return lambda port: [program, script, f"127.0.0.1:{port}", str(RECORD)]


def go():
    compiler = debian("go", "golang-go")
    binary = OUT / "go-peer"
    run_quietly([compiler, "build", "-o", str(binary), "."], "go build", cwd=BENCH / "peers/go")
    return lambda port: [str(binary), f"127.0.0.1:{port}", str(RECORD)]


def printed(*command):
    """The version that a program prints about itself."""

    def version():
        done = subprocess.run(command, capture_output=True, text=True)
        match = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
        return match.group() if match else ""

    return version


def locked(package):
    """The version of a dependency in the lock file."""

    def version():
        lock = (BENCH / "Cargo.lock").read_text(encoding="utf-8")
        match = re.search(rf'name = "{package}"\nversion = "([^"]+)"', lock)
        return match.group(1) if match else ""

    return version


CANNED = {"hello", "json"}
STATIC = {"hello"}
SLEEPING = {"slow"}
FULL = {"hello", "json", "slow", "mixed"}


def all_servers():
    stepwell, inline, pool = (
        rust("bench-stepwell", "--hand-off", mode) for mode in ("on", "inline", "off")
    )
    return [
        Server("floor", "bare epoll loop", rust("bench-floor"), CANNED),
        Server("threads", "thread a connection", threads, SLEEPING),
        Server("stepwell", "Stepwell", stepwell, FULL),
        Server("inline", "Stepwell, inlined", inline, CANNED),
        Server("pool", "Stepwell, pool only", pool, FULL),
        Server("reactor", "reactor, no protocol", rust("bench-reactor"), CANNED),
        Server("hyper", "hyper", rust("peer-hyper"), FULL, locked("hyper")),
        Server("actix", "actix-web", rust("peer-actix"), FULL, locked("actix-web")),
        Server("nginx", "nginx", nginx, STATIC, printed("nginx", "-v")),
        Server("h2o", "H2O", h2o, STATIC, printed("h2o", "--version")),
        Server("go", "Go net/http", go, FULL, printed("go", "version")),
        Server("node", "Node http", node, FULL, printed("node", "--version")),
    ]
