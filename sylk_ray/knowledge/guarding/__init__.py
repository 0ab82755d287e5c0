"""The gate of a knowledge base: kept in step with what is written, on the disk between its owners, and for readers.

::

    guards = Guards(directory / "gate", database)
    guards.gate.check("code", "kubernetes operator")   # No, or MAYBE
    guards.written({Domain.CODE: written}, generations)
    guards.settle(versions)                            # until no reader denies it

A file of a domain says of which generation of its nodes it is; one of another generation is not used. Then everything
is let through until the gate has been built anew of the store, in a thread.
"""

from sylk_ray.knowledge.guarding.guard import Guard, GuardNumbers, Written
from sylk_ray.knowledge.guarding.guards import Guards

__all__ = ["Guard", "GuardNumbers", "Guards", "Written"]
