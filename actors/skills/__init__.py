"""What the agents of today can do when they are asked to: one module a role, and one for what several share.

A skill of the spec's tables that cannot be carried out yet is not here.
"""
