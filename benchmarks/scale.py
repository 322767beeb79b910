"""How time and memory grow: with the rows of the table that is learned (`in`).

    python benchmarks/scale.py in
    python benchmarks/scale.py in --rows 500000 --form csv

Results are kept in benchmarks/results; docs/scale.md says what they mean.
"""

from __future__ import annotations

import argparse

import scale_in


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    scale_in.add_arguments(commands.add_parser("in", help=scale_in.__doc__))
    arguments = parser.parse_args()
    arguments.main(arguments)


if __name__ == "__main__":
    main()
