"""Job files: what a person asks for, read from YAML into frozen models.

``load_job`` reports everything that is wrong with a file at once, each problem with its line, the field it is
about and what was probably meant; what it returns is sound, so nothing after it checks again. The short forms
that people write are expanded on the way in, and a ``Job`` is stored in its long form.
"""

from sylk_ray.jobs.adjusting import Adjustment, CannotAdjust, Strategy, adjusted, merged, with_tasks
from sylk_ray.jobs.graph import PIPELINE, graph_of
from sylk_ray.jobs.loading import load_job, load_job_file
from sylk_ray.jobs.model import Finally, Job, JobInspection, JobPolicy, Task
from sylk_ray.jobs.needs import ModelNeeded, check_models
from sylk_ray.jobs.problems import JobProblems, Problem
from sylk_ray.jobs.schema import job_schema
from sylk_ray.jobs.sugar import KNOWN_TOOLS

__all__ = [
    "KNOWN_TOOLS",
    "PIPELINE",
    "Adjustment",
    "CannotAdjust",
    "Finally",
    "Job",
    "JobInspection",
    "JobPolicy",
    "JobProblems",
    "ModelNeeded",
    "Problem",
    "Strategy",
    "Task",
    "adjusted",
    "check_models",
    "graph_of",
    "job_schema",
    "load_job",
    "load_job_file",
    "merged",
    "with_tasks",
]
