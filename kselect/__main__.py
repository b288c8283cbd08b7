"""``python -m kselect``."""

from kselect.cli import main

if __name__ == "__main__":
    main()
