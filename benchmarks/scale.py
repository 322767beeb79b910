"""How time and memory grow: with the rows of the table that is learned (`in`), with its columns (`columns`), and with
the rows and workers that write (`out`).

    python benchmarks/scale.py in
    python benchmarks/scale.py in --rows 500000 --form csv
    python benchmarks/scale.py columns
    python benchmarks/scale.py out --table adult.csv --rows 10000000

Results are kept in benchmarks/results; docs/scale.md says what they mean.
"""

from __future__ import annotations

import argparse

import scale_columns
import scale_in
import scale_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    scale_in.add_arguments(commands.add_parser("in", help=scale_in.__doc__))
    scale_columns.add_arguments(commands.add_parser("columns", help=scale_columns.__doc__))
    scale_out.add_arguments(commands.add_parser("out", help=scale_out.__doc__))
    arguments = parser.parse_args()
    arguments.main(arguments)


if __name__ == "__main__":
    main()
