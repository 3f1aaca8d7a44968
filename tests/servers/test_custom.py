"""A server from a file: what the file may say, what is wrong with it, and what an edit does."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from agent.mcp import Client, McpError, memory, stdio
from servers.custom import Custom, main
from servers.custom_config import ConfigFault

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
FOLDER_URI = "custom://docs/{+path}"


@pytest.fixture(autouse=True)
def _modules_of_one_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith((str(tmp_path), str(ROOT / "examples"))):
            del sys.modules[name]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "team.toml"


class Heard:
    """What the server told."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._more = anyio.Event()

    def note(self, method: str, params: Any) -> None:
        self.all.append(params.get("data") or params.get("uri") or method.removeprefix("notifications/"))
        self._more.set()
        self._more = anyio.Event()

    async def more(self) -> None:
        await self._more.wait()

    async def hear(self, *awaited: str) -> None:
        while not set(awaited) <= set(self.all):
            await self._more.wait()
        self.all.clear()


@asynccontextmanager
async def connected(config: Path, heard: Heard | None = None, protocol: str = "auto") -> AsyncIterator[Client]:
    with anyio.fail_after(15):
        custom = await anyio.to_thread.run_sync(Custom, config)
        note = (heard or Heard()).note
        async with Client(memory(custom.server), on_notification=note, protocol=protocol) as client:
            yield client


def write(file: Path, text: str) -> None:
    file.write_text(text)


def said(result: Any) -> str:
    return "".join(block.text for block in result.content)


async def read(client: Client, uri: str) -> Any:
    [contents] = (await client.read_resource(uri)).contents
    return getattr(contents, "text", None) or contents.blob


async def test_the_example_offers_everything() -> None:
    async with connected(ROOT / "examples" / "custom.toml") as client:
        assert (client.server_info.name, client.server_info.title) == ("example", "An example")
        assert [tool.name for tool in await client.list_tools()] == ["count_words", "days_until", "count_lines"]
        counted = await client.call_tool("count_words", {"text": "a b a", "common": 1})
        assert counted.structured_content == {"words": 3, "different": 2, "common": ["a"]}
        assert (await client.call_tool("days_until", {"day": "2020-01-01"})).structured_content["result"] < 0
        assert said(await client.call_tool("count_lines", {"file": "custom.toml"})).endswith(" custom.toml\n")
        prompt = await client.get_prompt("polish", {"text": "{audience}"})
        words = prompt.messages[0].content.text.splitlines()
        assert (words[0].partition(".")[0], words[-1]) == ("Polish this text for a general reader", "{audience}")
        assert [resource.uri for resource in await client.list_resources()] == ["custom://style", "custom://tools"]
        assert await read(client, "custom://style") == "Short sentences. Plain words. One idea in a paragraph."
        assert "days_until" in await read(client, "examples://files/text_tools.py")


async def test_a_tool_is_described_by_its_function_and_by_the_file(config: Path) -> None:
    (config.parent / "package").mkdir()
    write(config.parent / "package" / "__init__.py", "")
    write(
        config.parent / "package" / "sums.py",
        "from agent.mcp import Context\n"
        "async def add(ctx: Context, a: int, b: int = 1) -> int:\n"
        "    'Add numbers.'\n"
        "    await ctx.log('info', 'adding')\n"
        "    return a + b\n"
        "def fail():\n    raise LookupError('no such thing')\n",
    )
    write(
        config,
        "[tools.add]\nimport = 'package.sums:add'\ntitle = 'Sum'\n"
        "[tools.more]\nimport = 'package.sums:add'\ndescription = 'Again.'\nannotations = {readOnlyHint = true}\n"
        "[tools.fail]\nimport = 'package.sums:fail'\n",
    )
    heard = Heard()
    async with connected(config, heard, "2025-11-25") as client:
        add, more, _ = await client.list_tools()
        assert (add.title, add.description, more.description) == ("Sum", "Add numbers.", "Again.")
        assert more.annotations.model_dump(exclude_none=True) == {"read_only_hint": True}
        assert add.input_schema == {
            "type": "object",
            "additionalProperties": False,
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
            "required": ["a"],
        }
        assert (await client.call_tool("add", {"a": 2})).structured_content == {"result": 3}
        assert said(await client.call_tool("fail")) == "no such thing"
        assert heard.all == ["adding"]


async def test_a_command_gets_each_value_as_one_word_whatever_is_in_it(config: Path) -> None:
    program = "import sys; print(sys.argv[1:]); sys.exit(len(sys.argv) - 3 and 'wrong')"
    write(
        config,
        f"[tools.show]\ncommand = [{sys.executable!r}, '-c', \"{program}\", '<{{a}}{{a}}>', '{{b}} {{}} {{0}}']\n"
        "arguments.b = {description = 'The second', default = 'd'}\n"
        f"[tools.fails]\ncommand = [{sys.executable!r}, '-c', 'import sys; sys.exit(\"{{why}}\")']\n"
        f"[tools.hangs]\ncommand = [{sys.executable!r}, '-c', 'input(); import time; time.sleep(60)']\ntimeout = 0.2\n"
        "[tools.hangs_on]\ncommand = ['sleep', '60']\ntimeout = 0.2\n"
        "[tools.absent]\ncommand = ['no-such-program']\n",
    )
    async with connected(config) as client:
        show = (await client.list_tools())[0]
        assert show.input_schema["properties"] == {
            "a": {"type": "string"},
            "b": {"type": "string", "default": "d", "description": "The second"},
        }
        assert show.input_schema["required"] == ["a"]
        shown = await client.call_tool("show", {"a": "$(ls) ; {b}"})
        assert said(shown) == "['<$(ls) ; {b}$(ls) ; {b}>', 'd {} {0}']\n"
        failed = await client.call_tool("fails", {"why": "no reason"})
        assert (failed.is_error, said(failed)) == (True, f"{sys.executable} ended with code 1. no reason")
        assert "EOFError" in said(await client.call_tool("hangs"))
        assert said(await client.call_tool("hangs_on")) == "sleep was stopped after 0.2 seconds."
        assert said(await client.call_tool("absent")) == (
            "no-such-program cannot be started: No such file or directory."
        )


async def test_a_prompt_puts_values_in_once_and_leaves_other_braces(config: Path) -> None:
    write(config, "[prompts.p]\ntemplate = '{b} {a} {a} {} {0} {a.b} {\"x\": 1}'\narguments.a = 'First'\n")
    async with connected(config) as client:
        [prompt] = await client.list_prompts()
        assert [(each.name, each.description, each.required) for each in prompt.arguments] == [
            ("b", None, True),
            ("a", "First", True),
        ]
        got = await client.get_prompt("p", {"a": "{b}", "b": "B"})
        assert got.messages[0].content.text == 'B {b} {b} {} {0} {a.b} {"x": 1}'
        with pytest.raises(McpError, match="b is missing"):
            await client.get_prompt("p", {"a": "x"})


@pytest.fixture
def docs(config: Path) -> Path:
    docs = config.parent / "docs"
    (docs / "sub").mkdir(parents=True)
    (docs / "a.md").write_text("A")
    (docs / "sub" / "picture.png").write_bytes(b"\x89PNG\r\n\xff")
    (docs / ".env").write_text("SECRET")
    (docs / "link").symlink_to(config)
    (docs / "inner").symlink_to(docs / "a.md")
    write(config, "[resources.docs]\nfolder = 'docs'\n[resources.gone]\npath = 'gone.txt'\n")
    return docs


async def test_files_of_a_folder_are_read_and_completed(config: Path, docs: Path) -> None:
    async with connected(config) as client:
        assert [template.uri_template for template in await client.list_resource_templates()] == [FOLDER_URI]
        assert await read(client, "custom://docs/a.md") == "A"
        assert await read(client, "custom://docs/inner") == "A"
        assert await read(client, "custom://docs/sub/picture.png") == "iVBORw0K/w=="
        completed = await client.complete({"type": "ref/resource", "uri": FOLDER_URI}, "path", "s")
        assert completed.values == ["sub/picture.png"]


@pytest.mark.parametrize(
    "path",
    ["../team.toml", "%2e%2e/team.toml", "sub/../../team.toml", "..%5cteam.toml", "/etc/passwd", "%2Fetc/passwd",
     "link", ".env", "sub/.env", "", "sub", "nothing", "a.md%00"],
)  # fmt: skip
async def test_nothing_but_the_visible_files_of_a_folder_is_read(config: Path, docs: Path, path: str) -> None:
    async with connected(config) as client:
        for uri in (f"custom://docs/{path}", "custom://gone"):
            with pytest.raises(McpError, match="Resource not found") as refusal:
                await client.read_resource(uri)
            assert refusal.value.code == -32602


TOOL = "[tools.t]\nimport = 'lib:f'\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nane = 'x'", "nane: there is no such key; did you mean name?"),
        ("[tools.t]\nimprt = 'a:b'", "tools.t.imprt: there is no such key; did you mean import?"),
        ("[tools.t]\ncommand = ['a']\narguments.x.defalt = ''",
         "tools.t.arguments.x.defalt: there is no such key; did you mean default?"),
        ("[tools.t]", "tools.t: needs one of import, command."),
        ("[tools.t]\nimport = 'a:b'\ncommand = ['c']", "tools.t: takes only one of import, command."),
        ("[tools.t]\ncommand = []", "tools.t.command: list should have at least 1 item after validation, not 0."),
        ("[tools.t]\ncommand = ['a']\ntimeout = 0", "tools.t.timeout: input should be greater than 0."),
        (TOOL + "arguments.x = 'y'",
         "tools.t: the arguments of a function are its parameters; describe them in its docstring."),
        ("[tools.t]\nimport = 'lib'", "tools.t.import: 'lib' is not like \"package.module:function\"."),
        ("[tools.t]\nimport = 'lib:g'", "tools.t.import: lib has no function g."),
        ("[tools.t]\nimport = 'lib:CONSTANT'", "tools.t.import: lib has no function CONSTANT."),
        ("[tools.t]\nimport = 'nope.nope:g'", "tools.t.import: there is no module nope.nope in {folder}."),
        ("[tools.t]\nimport = 'needy:g'", "tools.t.import: importing needy failed: No module named 'absent'."),
        ("[tools.t]\nimport = 'raising:g'",
         "tools.t.import: importing raising failed: ZeroDivisionError: division by zero (raising.py, line 2)."),
        ("[tools.t]\nimport = 'leaving:g'",
         "tools.t.import: importing leaving failed: SystemExit: 3 (leaving.py, line 2)."),
        ("[tools.t]\nimport = 'broken:g'",
         "tools.t.import: importing broken failed: SyntaxError: expected ':' (broken.py, line 1)."),
        ("[tools.t]\nimport = 'lib:unresolved'",
         "tools.t: unresolved: an annotation cannot be resolved (name 'Missing' is not defined); "
         "define what it names in the module."),
        ("[tools.t]\nimport = 'lib:many'",
         "tools.t: many: parameter *values has no name a client could give; write it out."),
        ("[tools.'a b']\ncommand = ['c']",
         "tools.a b: 'a b' is no name: 1 to 128 letters, digits, '_', '.' or '-', or give one with name=."),
        ("[tools.t]\ncommand = ['{class}']", "tools.t: 'class' is not a valid parameter name."),
        ("[prompts.p]\ntemplate = '{a}'\narguments.b = ''", "prompts.p: arguments.b: there is no {{b}} to put it in."),
        ("[prompts.p]", "prompts.p.template: field required."),
        ("[prompts]\np = 'text'", "prompts.p: input should be a valid dictionary or instance of Prompt."),
        ("[resources.r]\npath = 'a'\ntext = 'b'", "resources.r: takes only one of path, text, folder."),
        ("[resources.r]\ntext = 'a'\nuri = 'x://{id}'", "resources.r: x://{{id}}: the function has no parameter id."),
        ("[resources.r]\ntext = 'a'\n[resources.s]\ntext = 'a'\nuri = 'custom://r'",
         "resources.s: trial offers custom://r already; remove it first."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence_that_names_file_and_key(config: Path, text: str, words: str) -> None:
    modules = {
        "lib": "CONSTANT = 1\ndef f() -> str: return ''\ndef many(*values): ...\n"
        "def unresolved(a: 'Missing') -> None: ...\n",
        "needy": "import absent",
        "raising": "\n1 / 0",
        "leaving": "import sys\nsys.exit(3)",
        "broken": "def g()\n",
    }
    for name, source in modules.items():
        write(config.parent / f"{name}.py", source)
    write(config, text)
    with pytest.raises(ConfigFault) as fault:
        Custom(config)
    assert str(fault.value) == f"{config}: " + words.format(folder=config.parent)


def test_a_file_that_cannot_be_read_is_named(config: Path) -> None:
    with pytest.raises(ConfigFault, match=r"team\.toml: there is no such file\."):
        Custom(config)
    with pytest.raises(ConfigFault, match=r"cannot be read: Is a directory\."):
        Custom(config.parent)
    config.write_bytes(b"name = '\xff'")
    with pytest.raises(ConfigFault, match=r"team\.toml is not UTF-8 at byte 8\."):
        Custom(config)
    write(config, "name = \n")
    with pytest.raises(ConfigFault, match=r"team\.toml is no TOML: Invalid value \(at line 1, column 8\)\."):
        Custom(config)


async def test_an_edit_is_announced_for_the_lists_it_changes(config: Path) -> None:
    tool, resource = "[tools.t]\ncommand = ['true']\n", "[resources.r]\ntext = 'one'\n"
    write(config, tool + resource + "[prompts.p]\ntemplate = 'old'")
    heard = Heard()
    async with connected(config, heard) as client:
        write(config, tool + resource + "[prompts.p]\ntemplate = 'new'\n[prompts.q]\ntemplate = 'more'")
        await heard.hear("prompts/list_changed")
        assert (await client.get_prompt("p")).messages[0].content.text == "new"
        assert [prompt.name for prompt in await client.list_prompts()] == ["p", "q"]
        write(config, "[resources.s]\ntext = 'two'\n[prompts.q]\ntemplate = 'more'")
        await heard.hear("prompts/list_changed", "tools/list_changed", "resources/list_changed")
        assert [resource.uri for resource in await client.list_resources()] == ["custom://s"]
        with pytest.raises(McpError, match="Unknown prompt: p"):
            await client.get_prompt("p")


async def test_an_edited_module_is_imported_anew_and_what_it_imports_too(config: Path) -> None:
    module, deeper = config.parent / "greeting.py", config.parent / "deeper.py"
    write(module, "import deeper\ndef greet() -> str: return deeper.WORD")
    write(deeper, "WORD = 'one'")
    write(config, "[tools.greet]\nimport = 'greeting:greet'\n")
    heard = Heard()
    async with connected(config, heard) as client:
        assert said(await client.call_tool("greet")) == "one"
        write(deeper, "WORD = 'two'")
        await heard.hear("tools/list_changed")
        assert said(await client.call_tool("greet")) == "two"
        write(module, "def greet(name: str) -> str: return name")
        await heard.hear("tools/list_changed")
        assert said(await client.call_tool("greet", {"name": "three"})) == "three"


async def test_a_module_keeps_its_state_while_only_the_file_is_edited(config: Path) -> None:
    write(config.parent / "counter.py", "calls = []\ndef count() -> int: calls.append(1); return len(calls)")
    write(config, "[tools.count]\nimport = 'counter:count'\n[prompts.p]\ntemplate = 'old'")
    heard = Heard()
    async with connected(config, heard) as client:
        assert (await client.call_tool("count")).structured_content == {"result": 1}
        write(config, "[tools.count]\nimport = 'counter:count'\n[prompts.p]\ntemplate = 'new'")
        await heard.hear("prompts/list_changed")
        assert (await client.call_tool("count")).structured_content == {"result": 2}
        assert heard.all == []


BREAKS = {
    "the file": ("team.toml", "[tools.greet]\nimprt = 'greeting:greet'\n"),
    "its TOML": ("team.toml", "[tools.gr"),
    "a module": ("greeting.py", "def greet() -> str return 'x'"),
    "a module below": ("deeper.py", "1 / 0"),
}


@pytest.mark.parametrize("broken", BREAKS)
async def test_a_broken_edit_keeps_what_there_was_and_warns_once(
    config: Path, broken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = {
        "greeting.py": "import deeper\ndef greet() -> str: return deeper.WORD",
        "deeper.py": "WORD = 'one'",
        "team.toml": "[tools.greet]\nimport = 'greeting:greet'\n[resources.note]\npath = 'note.txt'\n",
        "note.txt": "one",
    }
    for name, text in sound.items():
        write(config.parent / name, text)
    heard = Heard()
    async with connected(config, heard, "2025-11-25") as client:  # the last revision with logs that belong to no call
        await client.subscribe("custom://note")
        name, text = BREAKS[broken]
        write(config.parent / name, text)
        write(config.parent / "note.txt", "two")  # is told when the same look at the files is through
        while "custom://note" not in heard.all:
            await heard.more()
        for _ in range(2):
            assert said(await client.call_tool("greet")) == "one"
        warnings = [told for told in heard.all if told != "custom://note"]
        [warning] = warnings
        assert warning.startswith(f"{config}: ") or warning.startswith(f"{config} is no TOML: ")
        assert warning.endswith(" What was there before stays in use.")
        assert f"custom: {warning}\n" in capsys.readouterr().err
        heard.all.clear()
        write(config.parent / name, sound[name])
        write(config.parent / "deeper.py", "WORD = 'mended'")
        await heard.hear("tools/list_changed")
        assert said(await client.call_tool("greet")) == "mended"
        assert heard.all == []


async def test_a_module_that_was_missing_is_taken_when_it_comes(config: Path) -> None:
    write(config, "[tools.t]\ncommand = ['true']\n")
    heard = Heard()
    async with connected(config, heard, "2025-11-25") as client:
        write(config, "[tools.t]\nimport = 'late:f'\n[resources.r]\ntext = 'x'")
        await heard.more()
        assert heard.all[0].startswith(f"{config}: tools.t.import: there is no module late in {config.parent}.")
        write(config.parent / "late.py", "def f() -> str: return 'here'")
        await heard.hear("tools/list_changed")
        assert said(await client.call_tool("t")) == "here"


async def test_it_runs_as_a_process_and_nothing_a_module_prints_reaches_the_client(config: Path) -> None:
    write(config.parent / "loud.py", "print('imported')\ndef f() -> str:\n    print('called')\n    return 'x'")
    write(config, "[tools.f]\nimport = 'loud:f'")
    transport = stdio([sys.executable, "-m", "servers.custom", str(config)], cwd=ROOT)
    with anyio.fail_after(20):
        async with Client(transport) as client:
            assert said(await client.call_tool("f")) == "x"
        assert transport.noise.count == 0


def test_a_file_that_is_wrong_ends_it_with_a_sentence(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([str(config)])
    assert (end.value.code, capsys.readouterr().err) == (2, f"custom: {config}: there is no such file.\n")
