"""Merges the project's file over the user's: its values override, but it never permits more than the user does.

A project's file comes with the project, perhaps from a stranger, and is read just because the program was started in
that folder. So it may choose a model, add servers and set restrictions, but not grant permissions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from agent.chat.policy import stricter
from agent.host.config.models import (
    Approval,
    ElicitationTable,
    PermissionsTable,
    SamplingTable,
    ServerTable,
    Settings,
    Table,
    ToolsTable,
)

T = TypeVar("T", bound=Table)

APPROVALS: Sequence[Approval] = ("allow", "ask", "manual", "deny")
FORMS = ("ask", "decline", "cancel")
"""How strict each answer to forms is; answering without the person (defaults, a file) is the least strict."""
LIMITS = {name for name in SamplingTable.model_fields if name.startswith("max_")}


def overlay(under: T, over: T) -> T:
    """`under`, overridden by every value that is set in `over`."""
    return under.model_copy(update={key: getattr(over, key) for key in over.model_fields_set})


def stricter_approval(one: Approval, other: Approval) -> Approval:
    return max(one, other, key=APPROVALS.index)


def stricter_form(one: str, other: str) -> str:
    return max(one, other, key=lambda answer: FORMS.index(answer) if answer in FORMS else -1)


def merge_settings(user: Settings, project: Settings) -> Settings:
    return Settings(
        chat=overlay(user.chat, project.chat),
        models=user.models | project.models,
        permissions=_permissions(user.permissions, project.permissions),
        sampling=_sampling(user.sampling, project.sampling),
        elicitation=_elicitation(user.elicitation, project.elicitation),
    )


def _permissions(user: PermissionsTable, project: PermissionsTable) -> PermissionsTable:
    default = stricter(user.default, project.default) if "default" in project.model_fields_set else user.default
    allow = (*user.allow, *(project.allow if user.default == "allow" else ()))
    return PermissionsTable(default=default, allow=allow, deny=(*user.deny, *project.deny))


def _sampling(user: SamplingTable, project: SamplingTable) -> SamplingTable:
    said = "approve" in project.model_fields_set
    approve = stricter_approval(user.approve, project.approve) if said else user.approve
    limits = {name: _lower(getattr(user, name), getattr(project, name)) for name in LIMITS & project.model_fields_set}
    return overlay(user, project).model_copy(update={"approve": approve, **limits})


def _lower(one: float | None, other: float | None) -> float | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _elicitation(user: ElicitationTable, project: ElicitationTable) -> ElicitationTable:
    said = "answer" in project.model_fields_set
    return ElicitationTable(answer=stricter_form(user.answer, project.answer)) if said else user


def restrain(project: ServerTable, user: ServerTable | None, settings: Settings) -> ServerTable:
    """A server of the project's file, restricted by the user's settings and the user's server of the same name."""
    approve = (user.sampling if user else None) or settings.sampling.approve
    answer = (user.elicitation if user else None) or settings.elicitation.answer
    theirs = user.tools if user else ToolsTable()
    allow = (*theirs.allow, *(project.tools.allow if settings.permissions.default == "allow" else ()))
    changes = {
        "sampling": stricter_approval(project.sampling or approve, approve),
        "elicitation": stricter_form(project.elicitation or answer, answer),
        "trust": project.trust and user is not None and user.trust,
        "context": project.context and user is not None and user.context,
        "tools": ToolsTable(allow=allow, deny=(*theirs.deny, *project.tools.deny)),
    }
    return project.model_copy(update=changes)


def loosened(user: Settings, project: Settings) -> list[str]:
    """The keys of the project's file that would permit more than the user does, and therefore have no effect."""
    merged = merge_settings(user, project)
    keys = []
    if "default" in project.permissions.model_fields_set and merged.permissions.default != project.permissions.default:
        keys.append("permissions.default")
    if project.permissions.allow and user.permissions.default != "allow":
        keys.append("permissions.allow")
    if "approve" in project.sampling.model_fields_set and merged.sampling.approve != project.sampling.approve:
        keys.append("sampling.approve")
    if "answer" in project.elicitation.model_fields_set and merged.elicitation.answer != project.elicitation.answer:
        keys.append("elicitation.answer")
    return keys
