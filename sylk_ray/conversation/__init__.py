"""What the planning agents will say to people, to each other and to the pipelines: the messages alone, so far.

``planning`` is a plan's way to work and back, ``quality`` the judging of a whole session. Each names who says it to
whom, and is declared ahead of the agents that will understand it. In the specification several of them go through the
Guide; here the session's router finds their receivers, and nobody passes them on.
"""

from sylk_ray.conversation.planning import (
    ClarificationRequest,
    ClarificationResponse,
    TaskHelp,
    UserInterrupt,
    WorkflowComplete,
)
from sylk_ray.conversation.quality import (
    Correction,
    PlannedTest,
    TestCorrections,
    TestDagRequest,
    TestPlanRequest,
    TestPlanResponse,
    TestResults,
    TestsReady,
    ValidateTask,
    ValidationCorrections,
    ValidationFull,
    ValidationResult,
)

__all__ = [
    "ClarificationRequest",
    "ClarificationResponse",
    "Correction",
    "PlannedTest",
    "TaskHelp",
    "TestCorrections",
    "TestDagRequest",
    "TestPlanRequest",
    "TestPlanResponse",
    "TestResults",
    "TestsReady",
    "UserInterrupt",
    "ValidateTask",
    "ValidationCorrections",
    "ValidationFull",
    "ValidationResult",
    "WorkflowComplete",
]
