"""What the configuration says about servers that ask: limits, folders, and a project's file that wants more."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.host.config.config import Config, resolve
from agent.host.config.merge import restrain
from agent.host.config.models import ServerTable, Settings
from agent.host.options import Options


def configured(folder: Path, user: str, project: str = "") -> Config:
    (folder / "config").mkdir()
    (folder / "config" / "config.toml").write_text(user)
    if project:
        (folder / "mcp-chat.toml").write_text(project)
    environ = {"MCP_CHAT_CONFIG_DIR": str(folder / "config"), "MCP_CHAT_DATA_DIR": str(folder / "data")}
    return resolve(Options(), environ, folder)


def test_folders_for_all_servers_are_relative_to_their_file(tmp_path: Path) -> None:
    config = configured(tmp_path, '[chat]\nroots = ["files", "/srv/../srv"]\n')
    assert config.settings.chat.roots == (str(tmp_path / "config" / "files"), "/srv")


def test_a_project_may_lower_what_servers_may_take_and_not_raise_it(tmp_path: Path) -> None:
    user = "[sampling]\nmax_tokens = 100\nmax_requests_per_turn = 5\nmax_cost_per_turn = 0.5\n"
    project = "[sampling]\nmax_tokens = 9000\nmax_requests_per_turn = 2\nmax_concurrent = 1\nmax_cost_per_turn = 3\n"
    sampling = configured(tmp_path, user, project).settings.sampling
    assert (sampling.max_tokens, sampling.max_requests_per_turn, sampling.max_cost_per_turn) == (100, 2, 0.5)
    assert sampling.max_concurrent == 1


def test_a_project_sets_a_limit_where_the_user_has_none(tmp_path: Path) -> None:
    sampling = configured(tmp_path, "", "[sampling]\nmax_cost_per_turn = 3\n").settings.sampling
    assert sampling.max_cost_per_turn == 3


@pytest.mark.parametrize(("user", "context"), [(None, False), (False, False), (True, True)])
def test_a_project_s_server_sees_the_chat_only_where_the_user_says_so(user: bool | None, context: bool) -> None:
    own = None if user is None else ServerTable(command="x", context=user)
    assert restrain(ServerTable(command="x", context=True), own, Settings()).context == context
