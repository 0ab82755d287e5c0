"""A runtime for teams of coding agents on Ray.

A person hands it a job for a git repository; a session runs the job as a graph of tasks, each task as a
pipeline of Engineer, Inspector and Tester that correct each other directly, and leaves a branch of reviewed,
tested commits. Start with ``sylk_ray.runtime`` for the actor model and ``sylk_ray.jobs`` for what a job says.
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
