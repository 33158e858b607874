"""Python's clients against the two examples; see `run`."""

import gzip
import http.client
import os
import socket
import urllib.error
import urllib.request
from urllib.parse import urlsplit

ECHO = os.environ["ECHO_URL"]
STREAM = os.environ["STREAM_URL"]
with open(os.path.join(os.environ["WORK"], "10mb"), "rb") as file:
    LARGE = file.read()
PATIENCE = 60


def numbers(upto):
    return "".join(f"{n}\n" for n in range(1, upto + 1)).encode()


def connect(url):
    return http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)


def get():
    with urllib.request.urlopen(ECHO + "/", timeout=PATIENCE) as answer:
        assert answer.read() == b"OK"


def head():
    connection = connect(ECHO)
    for _ in range(2):
        connection.request("HEAD", "/")
        answer = connection.getresponse()
        assert answer.read() == b"" and answer.getheader("Content-Length") == "2"


def post():
    request = urllib.request.Request(ECHO + "/", data=LARGE)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        assert answer.read() == LARGE


def post_chunked():
    connection = connect(STREAM)
    pieces = (LARGE[at : at + 50_000] for at in range(0, len(LARGE), 50_000))
    connection.request("PUT", "/count", body=pieces, encode_chunked=True,
                       headers={"Transfer-Encoding": "chunked"})
    said = connection.getresponse().read()
    assert said.startswith(b"10485760 bytes, "), said


def keep_alive():
    connection = connect(ECHO)
    ports = set()
    for body in [b"one", b"two", b"three"]:
        connection.request("POST", "/", body=body)
        ports.add(connection.sock.getsockname()[1])
        assert connection.getresponse().read() == body
    assert len(ports) == 1, ports


def pipelining():
    place = urlsplit(ECHO)
    with socket.create_connection((place.hostname, place.port), PATIENCE) as link:
        request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n%03d"
        last = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        link.sendall(("".join(request % n for n in range(50)) + last).encode())
        whole = b""
        while piece := link.recv(65536):
            whole += piece
    bodies = [part.split(b"\r\n\r\n")[1] for part in whole.split(b"HTTP/1.1 200")[1:]]
    assert bodies == [b"%03d" % n for n in range(50)] + [b"OK"], bodies


def decode_gzip():
    request = urllib.request.Request(STREAM + "/numbers?upto=50000")
    request.add_header("Accept-Encoding", "gzip")
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(answer.read()) == numbers(50000)


def events():
    with urllib.request.urlopen(STREAM + "/clock", timeout=PATIENCE) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        assert answer.readline() == b"event: tick\n"


def early_close():
    endless = STREAM + "/numbers?upto=1000000000"
    for _ in range(3):
        with urllib.request.urlopen(endless, timeout=PATIENCE) as answer:
            assert answer.read(4) == b"1\n2\n"
    with urllib.request.urlopen(STREAM + "/numbers?upto=3", timeout=PATIENCE) as answer:
        assert answer.read() == numbers(3)


def not_found():
    try:
        urllib.request.urlopen(STREAM + "/nowhere", timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        assert error.code == 404
    else:
        raise AssertionError("no error")


def requests_session():
    import requests

    with requests.Session() as session:
        assert session.get(ECHO + "/", timeout=PATIENCE).text == "OK"
        assert session.post(ECHO + "/", data=LARGE, timeout=PATIENCE).content == LARGE
        answer = session.get(STREAM + "/numbers?upto=50000", timeout=PATIENCE)
        assert answer.headers["Content-Encoding"] and answer.content == numbers(50000)
        pieces = (b"line\n" for _ in range(1000))
        answer = session.put(STREAM + "/count", data=pieces, timeout=PATIENCE)
        assert answer.text == "5000 bytes, 1000 lines\n", answer.text


for check in [get, head, post, post_chunked, keep_alive, pipelining, decode_gzip, events,
              early_close, not_found, requests_session]:
    name = check.__name__.replace("_", "-")
    try:
        check()
        print(f"ok {name}", flush=True)
    except ImportError as error:
        print(f"skipped {name}: {error}", flush=True)
    except Exception as error:  # every misfortune is a finding
        print(f"FAIL {name}: {type(error).__name__} {str(error)[:300]!r}", flush=True)
