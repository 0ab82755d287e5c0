"""What a job needs of the runtime that is to run it."""

from __future__ import annotations

from sylk_ray.config import Settings
from sylk_ray.errors import InputError
from sylk_ray.jobs.model import Job


class ModelNeeded(InputError):
    """Something in a job is for a model to do, and none is configured."""

    code = "model_needed"


def check_models(job: Job, settings: Settings) -> None:
    """Raises ModelNeeded."""
    if settings.models:
        return
    thinking = [name for name, task in job.tasks.items() if task.thinks]
    if job.needs_plan:
        raise ModelNeeded(
            "to plan a request needs a model, and none is configured",
            hint='set one in settings.yaml (README, "Models"), or write a job file: see `sylk validate --help`',
        )
    if job.finally_ is not None and job.finally_.review:
        thinking.append("finally")
    if thinking:
        roles = job.tasks[thinking[0]].thinks if thinking[0] in job.tasks else ("inspector",)
        what = "a task with a prompt" if "engineer" in roles else "a review or the writing of tests"
        raise ModelNeeded(
            f"{', '.join(thinking)}: {what} needs a model, and none is configured",
            hint='set one in settings.yaml (README, "Models"), or declare "engineer:" actions instead',
        )
