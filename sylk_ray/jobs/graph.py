"""The graph of a job: one pipeline for each task."""

from __future__ import annotations

from sylk_ray.dag import Graph, Node, Policy, Retry
from sylk_ray.jobs.model import Job, Task

PIPELINE = "pipeline"
"""The role of every node."""
TIMEOUT_S = 600.0
THINKING_TIMEOUT_S = 3600.0


def graph_of(job: Job) -> Graph:
    """Tasks in the order of the file, under the job's policy."""
    policy = Policy(
        max_concurrency=job.policy.max_concurrency,
        on_failure=job.policy.on_failure,
        retry=_retry(job, job.policy.retries),
        timeout_s=job.policy.timeout_s or TIMEOUT_S,
    )
    return Graph(tuple(_node(job, name, task) for name, task in job.tasks.items()), policy)


def _node(job: Job, name: str, task: Task) -> Node:
    return Node(
        name,
        PIPELINE,
        task.depends_on,
        timeout_s=task.timeout_s or job.policy.timeout_s or (THINKING_TIMEOUT_S if task.thinks else None),
        retry=None if task.retries is None else _retry(job, task.retries),
        lane=task.lane,
        metadata={"description": task.description} if task.description else {},
    )


def _retry(job: Job, attempts: int) -> Retry:
    base = job.policy.retry_delay_s
    return Retry(attempts=attempts, base_s=base, max_s=max(60.0, base))
