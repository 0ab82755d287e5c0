"""What can be wrong with what a codebase is asked."""

from __future__ import annotations

from sylk_ray.errors import InputError


class NotIndexed(InputError):
    """Nothing is known of a root."""

    code = "not_indexed"


class NoSuchFolder(InputError):
    """A root is no folder that can be read."""

    code = "no_such_folder"


class NoSuchFile(InputError):
    """A path is not among what is indexed."""

    code = "no_such_file"
