"""``python -m kdissect``."""

from kdissect.cli import main

if __name__ == "__main__":
    main()
