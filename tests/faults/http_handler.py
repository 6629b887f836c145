"""What the servers of the tests have in common: whatever is asked goes to one place, over connections that are kept."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Serves each request by `serve`, which answers or hangs up."""

    protocol_version = "HTTP/1.1"  # Connections are kept, as by real servers and proxies.
    disable_nagle_algorithm = True
    wbufsize = -1  # The answer leaves in one piece.

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (The name is the standard library's.)
        """Say nothing."""

    def do_GET(self) -> None:
        self.serve()

    def do_HEAD(self) -> None:
        self.serve()

    def do_POST(self) -> None:
        self.serve()

    def do_DELETE(self) -> None:
        self.serve()

    def serve(self) -> None:
        raise NotImplementedError

    def read_body(self) -> bytes:
        """Read the body of the request, which must be done before it is answered."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, headers: Iterable[tuple[str, str]], content: bytes) -> None:
        """Send an answer."""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def hang_up(self) -> None:
        """Close the connection without an answer."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
