"""The JSON schema of job files, for editors."""

from __future__ import annotations

from typing import Any

from sylk_ray.jobs.model import Job


def job_schema() -> dict[str, Any]:
    """Draft 2020-12, with the short forms. It cannot say what the loader checks across fields: the graph, the
    tools that need a command, that a task has something to do."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Job.model_json_schema()}
