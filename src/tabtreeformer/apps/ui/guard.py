"""Allows only requests with the token, from this machine and from the page itself."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

COOKIE = "ttf_token"
HOSTS = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'self'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # with none, browsers send forms with the origin null
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
PAGE_OF_ITS_OWN = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
)
"""The report has its own style and script, and is allowed nothing else."""

Answer = Callable[[Request], Awaitable[Response]]


def guarded(token: str, max_bytes: int) -> Callable[[Request, Answer], Awaitable[Response]]:
    """Middleware that refuses everything that does not come from the page itself."""

    async def check(request: Request, answer: Answer) -> Response:
        refusal = _refusal(request, token, max_bytes)
        if refusal is not None:
            return refusal
        if "token" in request.query_params:  # keep it out of the address bar, the history and screenshots
            response: Response = RedirectResponse(request.url.path, status_code=303)
            response.set_cookie(COOKIE, token, httponly=True, samesite="strict")
            return response
        response = await answer(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return check


def _refusal(request: Request, token: str, max_bytes: int) -> Response | None:
    host = request.headers.get("host", "")
    if host.rsplit(":", 1)[0] not in HOSTS:
        return _no(403, f"this page answers on the loopback address only, not as {host!r}")
    origin = request.headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return _no(403, "this page answers to itself only, not to other pages")
    given = request.query_params.get("token") or request.cookies.get(COOKIE) or ""
    if not hmac.compare_digest(given.encode(), token.encode()):
        return _no(403, "open the address that `ttf ui` printed; it carries the token without which nothing is shown")
    if request.method == "POST":
        length = request.headers.get("content-length", "")
        if not length.isdigit():
            return _no(411, "the size of an upload must be known in advance")
        if int(length) > max_bytes:
            return _no(
                413, f"the file is too large: at most {max_bytes // 2**20:,} MB; use `ttf fit` for larger tables"
            )
    return None


def _no(status: int, why: str) -> Response:
    headers: dict[str, Any] = dict(HEADERS)
    return PlainTextResponse(why + "\n", status, headers)
