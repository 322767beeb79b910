"""`python -m tabtreeformer` is the command line."""

from .cli import main

main()
