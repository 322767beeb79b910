"""A small stand-in for the HTTP interface of the Hugging Face Hub: repositories, commits, downloads, in memory."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "a" * 40


class Hub:
    """Serves on the loopback address while the block lasts."""

    def __init__(self) -> None:
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.tokens: set[str] = set()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def answer(self, status: int, data: object = None, headers: dict[str, str] | None = None) -> None:
                body = data if isinstance(data, bytes) else json.dumps(data).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                hub.tokens.add(self.headers.get("Authorization", ""))
                if self.path == "/api/repos/create":
                    asked = json.loads(body)
                    name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
                    hub.repositories.setdefault(name, {})
                    hub.private[name] = bool(asked.get("private") or asked.get("visibility") == "private")
                    self.answer(200, {"url": f"{hub.address}/{name}", "id": name})
                elif self.path == "/api/validate-yaml":
                    assert json.loads(body)["content"].startswith("---")
                    self.answer(200, {"errors": [], "warnings": []})
                elif preupload := re.fullmatch(r"/api/models/(.+)/preupload/main", self.path):
                    assert preupload[1] in hub.repositories
                    files = [
                        {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False}
                        for f in json.loads(body)["files"]
                    ]
                    self.answer(200, {"files": files})
                elif commit := re.fullmatch(r"/api/models/(.+)/commit/main", self.path):
                    for line in body.decode().splitlines():
                        entry = json.loads(line)
                        if entry["key"] == "file":
                            content = base64.b64decode(entry["value"]["content"])
                            hub.repositories[commit[1]][entry["value"]["path"]] = content
                    self.answer(200, {"commitUrl": f"{hub.address}/{commit[1]}/commit/{COMMIT}", "commitOid": COMMIT})
                else:
                    self.answer(404, {"error": self.path})

            def do_GET(self) -> None:
                wanted = re.fullmatch(r"/(.+)/resolve/[^/]+/(.+)", self.path)
                content = hub.repositories.get(wanted[1], {}).get(wanted[2]) if wanted else None
                if content is None:
                    self.answer(404, {"error": "not found"}, {"X-Error-Code": "RepoNotFound"})
                else:
                    etag = f'"{hashlib.sha256(content).hexdigest()}"'
                    self.answer(200, content, {"ETag": etag, "X-Repo-Commit": COMMIT})

            do_HEAD = do_GET

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Hub:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
