"""``python -m committee`` is the ``committee`` command."""

from committee.cli import main

if __name__ == "__main__":
    main()
