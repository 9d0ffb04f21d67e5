"""Pages opened in a real browser, from a server of our own."""

import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WIDTH, HEIGHT = 1200, 3000


class Site:
    """A folder on a server of our own, which records the requests."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.requests = folder, list[str]()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requests.append(self.path)
                file = site.folder / self.path.lstrip("/")
                content = file.read_bytes() if file.is_file() else b""
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> "Site":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def look(browser: str, url: str, folder: Path, *more: str) -> tuple[str, list[str]]:
    """Open a page, with more options: what became of it, and what its console says.

    A picture and a print are left in the folder.
    """
    options = [
        *("--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--disable-dev-shm-usage", "--enable-logging=stderr", "--no-pdf-header-footer"),
        f"--window-size={WIDTH},{HEIGHT}",
        f"--user-data-dir={folder / 'browser'}",
        f"--screenshot={folder / 'page.png'}",
        f"--print-to-pdf={folder / 'page.pdf'}",
        "--dump-dom",
        *more,
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")  # which root cannot have
    done = subprocess.run([browser, *options, url], capture_output=True, check=True)
    said = done.stderr.decode(errors="replace").splitlines()
    return done.stdout.decode(), [line for line in said if ":CONSOLE" in line]
