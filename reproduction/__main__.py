"""``python -m reproduction``."""

from reproduction.cli import run

if __name__ == "__main__":
    run()
