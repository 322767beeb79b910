"""A local web page: drop a table, review it, fit, watch, read the verdict, ask for rows. Nothing leaves the machine.

Starlette, uvicorn and Jinja (extra `ui`, 3 MB) with pages rendered by the server: they work without JavaScript, after
a reload and in any number of tabs, and fetch nothing from elsewhere.

    server.py    routes: what each address returns
    guard.py     which requests are allowed: token, host, origin, size
    store.py     tables, jobs and models on disk, one folder each
    queue.py     one fit at a time, each in its own process
    fit_job.py   that process: fit, rows, report
    forms.py     form fields → schema, settings and conditions
    pages/       templates, style and the few lines of script
"""
