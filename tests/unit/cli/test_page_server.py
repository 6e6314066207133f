"""One page at an address of this computer, whoever asks and however."""

import contextlib
import http.client
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from ethomarkov.cli import page_server
from ethomarkov.cli.page_server import HOST, PageServer


@pytest.fixture
def server():
    server = PageServer("<p>ω</p>")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def ask(server, path: str, method: str = "GET", **headers) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(HOST, server.server_port, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_the_server_shows_the_page_to_this_computer(server):
    assert server.server_address[0] == "127.0.0.1"
    assert ask(server, "/") == (200, "<p>ω</p>".encode())


@pytest.mark.parametrize("path", ["/study.nc", "/../../etc/passwd", "/index.html", "/?x"])
def test_the_server_shows_nothing_else(server, path):
    assert ask(server, path)[0] == 404


def test_the_server_answers_to_no_foreign_name(server):
    assert ask(server, "/", Host="evil.example")[0] == 404


def test_heads_have_no_body(server):
    assert ask(server, "/", "HEAD") == (200, b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_the_server_does_nothing_but_show(server, method):
    assert ask(server, "/", method)[0] == 501


def test_a_long_request_is_refused(server):
    assert ask(server, "/" + 70_000 * "x")[0] == 414


@pytest.fixture
def in_a_hurry(monkeypatch):
    monkeypatch.setattr(page_server, "SECONDS_TO_ASK", 0.2)


@pytest.mark.parametrize("half", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x"], ids=["nothing", "line", "headers"])
def test_half_a_request_is_dropped(in_a_hurry, server, half):
    with socket.create_connection((HOST, server.server_port), timeout=60) as client:
        client.sendall(half)
        assert client.recv(1000) == b""


def test_a_slow_request_is_dropped(in_a_hurry, server):
    """Each byte comes in time, and the request never ends."""
    with socket.create_connection((HOST, server.server_port), timeout=60) as client, pytest.raises(OSError):
        for _ in range(10_000):
            client.sendall(b"x")
            time.sleep(0.01)


def test_idle_connections_do_not_stand_in_the_way(server):
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(socket.create_connection((HOST, server.server_port), timeout=10))
        assert ask(server, "/")[0] == 200


@pytest.mark.slow
def test_ctrl_c_ends_the_server_cleanly():
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # jobs in the background ignore it
        "from ethomarkov.cli.page_server import serve_page; serve_page('<p>')"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline().startswith(b"Exploring at http://127.0.0.1:")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=300)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, b"Ended.\n", b"")
