"""`python -m trecpy`: the command `trecpy`."""

import sys

from trecpy.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
