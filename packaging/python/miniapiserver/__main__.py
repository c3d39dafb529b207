"""Runs the server with the arguments and the terminal of this process: python -m miniapiserver --ephemeral."""

import os
import subprocess
import sys

from . import binary_path


def main() -> None:
    command = [binary_path(), *sys.argv[1:]]
    if sys.platform == "win32":  # where exec starts a second process and ends the first
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
