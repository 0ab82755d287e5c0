"""Whatever is killed, whenever: every job ends as it would have, with each completed tool run done once."""

from __future__ import annotations

import os
import random

import pytest

from .chaos import CROWDED, DEDICATED, PACKED, run_round


@pytest.mark.parametrize(
    ("density", "budget"),
    [("packed", PACKED), ("packed", CROWDED), ("dedicated", DEDICATED)],
    ids=["packed", "crowded", "dedicated"],
)
async def test_whatever_is_killed_every_job_ends_as_it_would_have(start, repo, tmp_path, density, budget):
    seed = int(os.environ.get("STRESS_SEED", random.randrange(10**6)))
    print(f"STRESS_SEED={seed}")
    runtime = await start(
        density=density,
        gateway=True,
        cells=budget.cells,
        group_slack=1,
        dedicated_agents=32,
        cell_silence_s=2.0,
        session_restarts=1000,
    )

    done = await run_round(runtime, repo, tmp_path / "granted", budget, seed)

    print(done.told())
