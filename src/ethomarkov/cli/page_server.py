"""One page at an address of this computer."""

import contextlib
import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ethomarkov.exceptions import OutputError

HOST = "127.0.0.1"
SECONDS_TO_ASK = 5.0
SECONDS_TO_READ = 30.0


def serve_page(page: str, port: int = 0) -> None:
    """Show a page at a local address until Ctrl-C.

    Parameters
    ----------
    page
        As HTML.
    port
        Any free one by default.
    """
    try:
        server = PageServer(page, port)
    except (OSError, OverflowError) as error:
        raise OutputError(
            f"--port {port}: the page cannot be served there ({error}). Leave --port out for a free one."
        ) from error
    with server:
        try:
            print(f"Exploring at http://{HOST}:{server.server_port}/ until Ctrl-C.", flush=True)
            server.serve_forever()
        except KeyboardInterrupt:
            print("Ended.")


class PageServer(ThreadingHTTPServer):
    """A server of one page for this computer alone; every other address is not found.

    Parameters
    ----------
    page
        As HTML.
    port
        Any free one by default.
    """

    request_queue_size = 128

    def __init__(self, page: str, port: int = 0) -> None:
        self.content = page.encode()
        super().__init__((HOST, port), _OnePage)

    def handle_error(self, *_: object) -> None:
        """Say nothing about clients that went away, or that there is no thread for."""


class _OnePage(BaseHTTPRequestHandler):
    """Answers one request; whoever has not asked after five seconds is dropped, however slowly they speak."""

    server: PageServer
    server_version, sys_version = "ethomarkov", ""
    timeout = SECONDS_TO_READ

    def handle(self) -> None:
        self.patience = threading.Timer(SECONDS_TO_ASK, self._drop)
        self.patience.start()
        try:
            super().handle()
        finally:
            self.patience.cancel()

    def _drop(self) -> None:
        with contextlib.suppress(OSError):  # it may be gone already
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self.wfile.write(self._answer())

    def _answer(self) -> bytes:
        self.patience.cancel()
        # Another site's name can be made to point here; only our own names are answered.
        own = {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}
        found = self.path == "/" and self.headers.get("Host") in own
        body = self.server.content if found else b"not found"
        self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", "text/html; charset=utf-8" if found else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        return body

    def log_message(self, *_: object) -> None:
        """Say nothing about requests."""
