"""Entry point of ``python -m kselect``."""

from kselect.cli.main import main

if __name__ == "__main__":
    main()
