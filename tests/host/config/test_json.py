"""Other hosts' files: JSON as they write it, and what is wrong in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.host.config.config import Config, ConfigError, resolve
from agent.host.config.json import parse_jsonc
from agent.host.config.models import ServerTable
from agent.host.options import Options


def load(folder: Path, text: str, **environ: str) -> Config:
    (folder / "mcp.json").write_text(text, "utf-8")
    places = {"MCP_CHAT_CONFIG_DIR": str(folder / "none"), "MCP_CHAT_DATA_DIR": str(folder / "data")}
    return resolve(Options(mcp_config=(Path("mcp.json"),)), places | environ, folder)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('\ufeff{\n // c\n "a": {"b": "x"}, /* z */\n}', {"a": {"b": "x"}}),
        ('{"url": "http://h//p", "odd": ",]", "q": "a\\"//b"}', {"url": "http://h//p", "odd": ",]", "q": 'a"//b'}),
        ('["/* no */", 1, /* yes */ 2,]', ["/* no */", 1, 2]),
        ('{"a": [1, 2,\n ], }', {"a": [1, 2]}),
    ],
)
def test_comments_and_trailing_commas_are_allowed_and_strings_stay(text: str, value: object) -> None:
    assert parse_jsonc(text) == value


def test_an_error_names_the_line_as_it_is_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"mcp\.json is not valid JSON: .*line 4 column 2"):
        load(tmp_path, '{ /* two\nlines */\n "mcpServers": {}\n ]')


@pytest.mark.parametrize("text", ["[]", "{}", '{"mcpServers": []}', '"x"', '{"servers": null}'])
def test_a_file_without_servers_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="has no servers: it needs an object named mcpServers"):
        load(tmp_path, text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    options = Options(mcp_config=(Path("no.json"),))
    with pytest.raises(ConfigError, match=r"no\.json cannot be read: No such file or directory"):
        resolve(options, {"MCP_CHAT_CONFIG_DIR": str(tmp_path)}, tmp_path)


def test_every_bad_entry_is_reported_with_its_path_and_the_good_ones_load(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        '{"mcpServers": {"ok": {"command": "python", "args": ["s.py"], "type": "stdio", "autoApprove": ["x"]},'
        '"bad": {"args": ["x"]}, "bad2": null, "bad3": {"command": ["a"], "args": "x y"},'
        '"bad4": {"comand": "x", "type": "stdio"}, "bad5": {"URL": "https://h"}, "fine": {"command": "y", "comand": 1},'
        '"gone": {"command": "x", "disabled": true}, "empty": {"command": "x", "env": null}}}',
    )
    started = {name: table.argv for name, table in config.servers.items()}
    assert started == {"ok": ("python", "s.py"), "fine": ("y",), "empty": ("x",)}
    file = tmp_path / "mcp.json"
    assert [entry.reason for entry in config.disabled] == [
        f"{file}: mcpServers.bad.command: is missing; a server needs command, url or bundled.",
        f"{file}: mcpServers.bad2: must be a table.",
        f"{file}: mcpServers.bad3.command: must be a text. mcpServers.bad3.args: must be a list.",
        f"{file}: mcpServers.bad4.comand: there is no such key. Did you mean 'command'?",
        f"{file}: mcpServers.bad5.URL: there is no such key. Did you mean 'url'?",
    ]


def test_the_shape_of_vs_code_is_read_too(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        '{"servers": {"a": {"type": "stdio", "command": "x", "env": {"K": "${env:MINE}"}},'
        ' "b": {"command": "x", "args": ["${input:key}"]}, "c": {"type": "http", "url": "https://h/mcp",'
        ' "headers": {"X-Key": "${env:MINE}"}}, "d": {"type": "sse", "url": "https://h/sse"}}}',
        MINE="1",
    )
    assert config.servers == {
        "a": ServerTable(command="x", env={"K": "1"}),
        "c": ServerTable(url="https://h/mcp", headers={"X-Key": "1"}),
        "d": ServerTable(url="https://h/sse"),
    }
    file = tmp_path / "mcp.json"
    assert [entry.reason for entry in config.disabled] == [
        f"{file}: servers.b.args.0: the environment variable input:key is not set.",
    ]
