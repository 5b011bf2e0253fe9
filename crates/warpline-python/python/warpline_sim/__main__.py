"""The ``warpline`` command: ``python -m warpline_sim``."""

import sys

from . import _native


def main() -> None:
    sys.exit(_native.main(["warpline", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
