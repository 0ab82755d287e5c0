"""Who lives in a session: one module a role.

Each role is an ``Agent`` of ``sylk_ray.runtime`` and is found through the entry-point group ``sylk.roles``; the
machinery in ``sylk_ray`` knows none of them by name.
"""
