"""``python -m sylk_ray`` is ``sylk``, where that is not on the path."""

from sylk_ray.cli import main

if __name__ == "__main__":
    main()
