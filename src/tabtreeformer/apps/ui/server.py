"""What each address of the page returns."""

from __future__ import annotations

import contextlib
import io
import secrets
import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ..._version import __version__
from ...config.presets import PRIVACY
from ...data.io import read_table
from ...data.schema import KINDS, Schema
from ...errors import TabTreeFormerError
from ...privacy.gate.release import check_release
from ...synthesizer import TabTreeFormer
from .forms import MAX_ROWS, conditions_of, controls, schema_of, settings_of, whole_number
from .guard import PAGE_OF_ITS_OWN, guarded
from .queue import Queue, Watch
from .store import CARD, DONE, MODEL, REPORT, RUNNING, SCHEMA, STOPPING, WAITING, Entry, Store

PAGES = Path(__file__).parent / "pages"
MAX_BYTES = 200 * 2**20
FILES = {MODEL: "application/octet-stream", CARD: "text/markdown", SCHEMA: "application/json"}
STATIC = {"style.css": "text/css", "watch.js": "text/javascript", "icon.svg": "image/svg+xml"}


class Pages:
    """The pages, based on one store and one queue."""

    def __init__(self, store: Store, max_bytes: int) -> None:
        self.store, self.queue, self.max_bytes = store, Queue(), max_bytes
        self.environment = Environment(loader=FileSystemLoader(PAGES), autoescape=select_autoescape(default=True))

    def routes(self) -> list[Route]:
        """Address → answer."""
        return [
            Route("/", self.home),
            Route("/tables", self.upload, methods=["POST"]),
            Route("/tables/{number:int}", self.review),
            Route("/tables/{number:int}/fit", self.fit, methods=["POST"]),
            Route("/tables/{number:int}/remove", self.remove, methods=["POST"]),
            Route("/fits/{number:int}", self.watch),
            Route("/fits/{number:int}/state", self.state),
            Route("/fits/{number:int}/stop", self.stop, methods=["POST"]),
            Route("/models/{number:int}", self.model),
            Route("/models/{number:int}/rows", self.rows, methods=["POST"]),
            Route("/models/{number:int}/report", self.report),
            Route("/models/{number:int}/files/{name}", self.file),
            Route("/static/{name}", self.static),
        ]

    async def home(self, request: Request) -> Response:
        """The first page: a form to drop a table, and the tables so far."""
        return self._page("home.html", entries=self.store.newest_first(), max_megabytes=self.max_bytes // 2**20)

    async def upload(self, request: Request) -> Response:
        """Store a file if it can be read as a table."""
        async with request.form(max_files=1) as form:
            file = form.get("table")
            name = getattr(file, "filename", "")
            if not name:
                return self._problem("no file was chosen", 400)
            entry = self.store.new(name)
            path = entry.table
            with path.open("wb") as target:
                await run_in_threadpool(shutil.copyfileobj, file.file, target)  # type: ignore[union-attr]
        try:
            schema = await run_in_threadpool(_inferred, path)
        except TabTreeFormerError as error:
            self.store.remove(entry)
            return self._problem(f"{name}: {error}".replace(str(path), name), 400)
        schema.save(entry.folder / SCHEMA)
        entry.keep()
        return RedirectResponse(f"/tables/{entry.number}", 303)

    async def review(self, request: Request) -> Response:
        """The columns with their kinds and the reasons, and the settings of a fit."""
        entry = self._entry(request)
        return self._review(entry)

    def _review(self, entry: Entry, problem: str = "", status: int = 200) -> Response:
        schema = Schema.load(entry.folder / SCHEMA)
        facts = {"columns": schema.columns, "kinds": KINDS, "levels": PRIVACY, "settings": entry.settings}
        return self._page("review.html", status, entry=entry, problem=problem, **facts)

    async def fit(self, request: Request) -> Response:
        """Put a fit into the queue."""
        entry = self._entry(request)
        form = dict(await request.form())
        if entry.state in (WAITING, RUNNING, STOPPING):  # the button was pressed twice, or in two tabs
            return RedirectResponse(f"/fits/{entry.number}", 303)
        try:
            schema = schema_of(form, Schema.load(entry.folder / SCHEMA))
            settings = settings_of(form, schema)
        except TabTreeFormerError as error:
            return self._review(entry, str(error), 400)
        schema.save(entry.folder / SCHEMA)
        entry.ask_for(settings)
        _loaded.cache_clear()
        self.queue.add(entry)
        return RedirectResponse(f"/fits/{entry.number}", 303)

    async def watch(self, request: Request) -> Response:
        """The progress of a fit."""
        entry = self._entry(request)
        if entry.state == DONE:
            return RedirectResponse(f"/models/{entry.number}", 303)
        ahead = list(self.queue.waiting).index(entry) + 1 if entry in self.queue.waiting else 0
        return self._page("watch.html", entry=entry, watch=self._watch(entry), ahead=ahead)

    async def state(self, request: Request) -> Response:
        """The progress of a fit, for the script of the page."""
        entry = self._entry(request)
        watch = self._watch(entry)
        shown = self.environment.get_template("stages.html").render(entry=entry, watch=watch)
        return JSONResponse({"state": entry.state, "html": shown})

    async def stop(self, request: Request) -> Response:
        """End a fit with the best model so far."""
        entry = self._entry(request)
        self.queue.stop(entry)
        return RedirectResponse(f"/fits/{entry.number}" if entry.state else f"/tables/{entry.number}", 303)

    async def remove(self, request: Request) -> Response:
        """Delete a table and everything made from it."""
        entry = self._entry(request)
        if entry.state in (WAITING, RUNNING, STOPPING):
            return self._problem("this table is being fitted; stop the fit first", 409)
        self.store.remove(entry)
        return RedirectResponse("/", 303)

    async def model(self, request: Request) -> Response:
        """The verdict, the report, and the rows that can be requested."""
        return await self._model(self._entry(request))

    async def _model(self, entry: Entry, problem: str = "", form: Any = None, status: int = 200) -> Response:
        if entry.state != DONE:
            return RedirectResponse(f"/fits/{entry.number}", 303)
        loaded = await run_in_threadpool(_loaded, entry.model)
        facts = {"controls": controls(loaded), "summary": loaded.summary(), "form": form or {}, "max_rows": MAX_ROWS}
        privacy = loaded.fitted_.record.get("privacy") or {}
        return self._page("model.html", status, entry=entry, problem=problem, privacy=privacy, **facts)

    async def rows(self, request: Request) -> Response:
        """New rows under the conditions of the form, as a CSV file."""
        entry = self._entry(request)
        if entry.state != DONE:
            raise HTTPException(404, "there is no model of this table yet")
        form = dict(await request.form())
        try:
            text = await run_in_threadpool(_drawn, entry.model, form)
        except TabTreeFormerError as error:
            return await self._model(entry, str(error), form, 400)
        headers = {"Content-Disposition": f'attachment; filename="rows-{entry.number}.csv"'}
        return Response(text, media_type="text/csv; charset=utf-8", headers=headers)

    async def report(self, request: Request) -> Response:
        """The report, in a sandboxed frame."""
        path = self._entry(request).folder / REPORT
        if not path.is_file():
            raise HTTPException(404, "there is no report of this table yet")
        return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": PAGE_OF_ITS_OWN})

    async def file(self, request: Request) -> Response:
        """The model, its card, its schema."""
        name = request.path_params["name"]
        path = self._entry(request).folder / name
        if name not in FILES or not path.is_file():
            raise HTTPException(404, "there is no such file")
        return FileResponse(path, media_type=FILES[name], filename=name)

    async def static(self, request: Request) -> Response:
        """Style and script."""
        name = request.path_params["name"]
        if name not in STATIC:
            raise HTTPException(404, "there is no such file")
        return FileResponse(PAGES / name, media_type=STATIC[name])

    async def problem(self, request: Request, error: Exception) -> Response:
        """Errors as a page."""
        assert isinstance(error, HTTPException)
        return self._problem(error.detail, error.status_code)

    def _problem(self, message: str, status: int) -> Response:
        return self._page("problem.html", status, message=message)

    def _page(self, template: str, status: int = 200, **facts: Any) -> Response:
        text = self.environment.get_template(template).render(version=__version__, **facts)
        return HTMLResponse(text, status)

    def _entry(self, request: Request) -> Entry:
        entry = self.store.entries.get(request.path_params["number"])
        if entry is None:
            raise HTTPException(404, "there is no such table; it may have been removed in another tab")
        return entry

    def _watch(self, entry: Entry) -> Watch:
        return self.queue.watches.get(entry.number, Watch())


def build_app(folder: Path, token: str, max_bytes: int = MAX_BYTES) -> Starlette:
    """The app, which keeps its files in a folder."""
    pages = Pages(Store(folder), max_bytes)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        pages.queue.close()

    return Starlette(
        routes=pages.routes(),
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=guarded(token, max_bytes))],
        exception_handlers={HTTPException: pages.problem, 404: pages.problem},
        lifespan=lifespan,
    )


def serve(folder: Path | None, port: int, max_bytes: int, announce: Any) -> None:
    """Serve on the loopback address until interrupted; without a folder, everything is deleted at the end."""
    import socket

    import uvicorn

    token = secrets.token_urlsafe(16)
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if folder is None else folder
        listening = stack.enter_context(socket.create_server(("127.0.0.1", port)))
        announce(f"http://127.0.0.1:{listening.getsockname()[1]}/?token={token}")
        config = uvicorn.Config(build_app(place, token, max_bytes), log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listening])


def _inferred(path: Path) -> Schema:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Schema.infer(read_table(path))


@lru_cache(maxsize=4)
def _loaded(path: Path) -> TabTreeFormer:
    return TabTreeFormer.load(path, device="cpu", verbose=False)


def _drawn(path: Path, form: dict[str, Any]) -> str:
    """Rows as CSV; a model that failed its verdict needs a reason, which is recorded in its file."""
    model = _loaded(path)
    n = whole_number(form, "rows", 1, MAX_ROWS, 1000)
    given = conditions_of(form, controls(model))
    check_release(path, model.fitted_.record, str(form.get("reason", "")).strip() or None, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the verdict is on the page
        rows = model.sample(n, given=given or None, random_state=whole_number(form, "seed", 0, 2**32 - 1, 0))
    text = io.StringIO()
    rows.to_csv(text, index=False)
    return text.getvalue()
