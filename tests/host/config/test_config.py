"""Files, options and environment to a configuration, and what a fault in each place does."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from agent.host.config.config import Config, ConfigError, Consent, Disabled, agree, resolve
from agent.host.config.models import ServerTable
from agent.host.options import Options

KEYS = {"OPENAI_API_KEY": "sk-openai-1234", "ANTHROPIC_API_KEY": "sk-ant-1234"}


class Place:
    """A home and a project, with what stands in their files."""

    def __init__(self, root: Path) -> None:
        self.user, self.project = root / "home", root / "project"
        self.user.mkdir()
        self.project.mkdir()
        self.environ = {"MCP_CHAT_CONFIG_DIR": str(self.user), "MCP_CHAT_DATA_DIR": str(root / "data")}

    def write(self, user: str = "", project: str = "") -> None:
        for folder, name, text in ((self.user, "config.toml", user), (self.project, "mcp-chat.toml", project)):
            if text:
                (folder / name).write_text(text, "utf-8")

    def resolve(self, options: Options | None = None, **environ: str) -> Config:
        return resolve(options or Options(), self.environ | environ, self.project)

    def error(self, options: Options | None = None) -> str:
        with pytest.raises(ConfigError) as caught:
            self.resolve(options)
        return str(caught.value)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def reasons(config: Config) -> list[tuple[str, str]]:
    return [(entry.name, entry.reason) for entry in config.disabled]


# What is started


def test_without_any_configuration_the_bundled_demo_server_starts(place: Place) -> None:
    config = place.resolve()
    assert config.servers == {"demo": ServerTable(bundled="demo")}
    assert config.servers["demo"].argv == (sys.executable, "-P", "-m", "servers.demo")


@pytest.mark.parametrize(
    "options",
    [Options(no_servers=True), Options(servers=("x=cat",)), Options(mcp_config=(Path("other.json"),))],
    ids=["no-servers", "a server", "another host's file"],
)
def test_the_demo_server_starts_only_if_nothing_at_all_was_said(place: Place, options: Options) -> None:
    (place.project / "other.json").write_text('{"mcpServers": {}}')
    assert "demo" not in place.resolve(options).servers


def test_only_chooses_among_the_configured_servers(place: Place) -> None:
    place.write('[servers.a]\ncommand = "a"\n[servers.b]\ncommand = "b"\n')
    assert list(place.resolve(Options(only=("b",))).servers) == ["b"]
    assert list(place.resolve(Options(only=("b",), servers=("c=cat",))).servers) == ["b", "c"]
    assert place.error(Options(only=("bb",))) == "--only bb: there is no such server. Did you mean 'b'?"


def test_a_server_of_the_command_line_replaces_a_configured_one(place: Place) -> None:
    place.write('[servers.a]\ncommand = "old"\nrequired = true\n')
    assert place.resolve(Options(servers=("a=new",))).servers == {"a": ServerTable(command="new")}


@pytest.mark.parametrize(
    ("spec", "name", "argv"),
    [
        ("tools.py --fast", "tools", (sys.executable, "{cwd}/tools.py", "--fast")),
        ("my tools.py", "my-tools", (sys.executable, "{cwd}/my tools.py")),
        ("uvx mcp-server-time --zone 'a b'", "uvx", ("uvx", "mcp-server-time", "--zone", "a b")),
        ("./run.sh", "run.sh", ("{cwd}/run.sh",)),
        ("time=uvx mcp-server-time", "time", ("uvx", "mcp-server-time")),
        ("bundled:demo", "demo", (sys.executable, "-P", "-m", "servers.demo")),
        ("mine=bundled:demo", "mine", (sys.executable, "-P", "-m", "servers.demo")),
        ("env A=1 cat", "env", ("env", "A=1", "cat")),
    ],
)
def test_a_server_may_be_given_in_many_ways(place: Place, spec: str, name: str, argv: tuple[str, ...]) -> None:
    (place.project / "my tools.py").touch()
    (place.project / "tools.py").touch()
    config = place.resolve(Options(servers=(spec,)))
    found = {key: table.argv for key, table in config.servers.items()}
    assert found == {name: tuple(part.replace("{cwd}", str(place.project)) for part in argv)}


@pytest.mark.parametrize(
    ("spec", "name", "url"),
    [
        ("https://mcp.example.com/mcp/", "mcp.example.com", "https://mcp.example.com/mcp/"),
        ("mine=http://127.0.0.1:9/mcp?a=b%2Fc", "mine", "http://127.0.0.1:9/mcp?a=b%2Fc"),
        ("https://[::1]:8000/mcp", "1", "https://[::1]:8000/mcp"),
    ],
)
def test_a_server_may_be_given_by_its_url_which_stays_as_it_is(place: Place, spec: str, name: str, url: str) -> None:
    config = place.resolve(Options(servers=(spec,)))
    assert {key: table.url for key, table in config.servers.items()} == {name: url}


def test_a_file_that_is_not_there_is_named(place: Place) -> None:
    wanted = f"there is no file {place.project}/nope.py."
    assert place.error(Options(servers=("nope.py --fast",))) == f"--server nope.py --fast: {wanted}"


def test_a_name_is_given_to_one_server_of_the_command_line_only(place: Place) -> None:
    said = place.error(Options(servers=("x=cat", "y=cat", "x=cat")))
    assert said == "--server: x is given twice; give one of them another name."


def test_two_servers_of_one_program_get_two_names(place: Place) -> None:
    config = place.resolve(Options(servers=("uvx a", "uvx b", "uvx c")))
    assert list(config.servers) == ["uvx", "uvx-2", "uvx-3"]


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("'", '--server "\'" is no command line: No closing quotation.'),
        ("", "--server '' is empty: it needs a .py file, a command line, a URL, or bundled:NAME."),
        ("x=", "--server 'x=' is empty: it needs a .py file, a command line, a URL, or bundled:NAME."),
        ("bundled:nope", "--server bundled:nope: bundled: must be 'demo', 'notes' or 'custom'. Did you mean 'notes'?"),
        ("http://u:pw@/mcp?key=k", "--server http:///mcp?key=…: is no address of a server; write https://HOST/PATH."),
        ("x=https://h:port/", "--server https://h:port/: is no address of a server; write https://HOST/PATH."),
    ],
)
def test_a_server_that_means_nothing_is_refused(place: Place, spec: str, sentence: str) -> None:
    assert place.error(Options(servers=(spec,))) == sentence


# Faults


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[chta]\n", "chta (line 1): there is no such table. Did you mean 'chat'?"),
        (
            "[chta]\n[permisions]\n",
            "chta (line 1): there is no such table. Did you mean 'chat'? "
            "permisions (line 2): there is no such table. Did you mean 'permissions'?",
        ),
        (
            "[chat]\nmodle = 1\nmax_turns = 0\n",
            "chat.max_turns (line 3): must be greater than 0. "
            "chat.modle (line 2): there is no such key. Did you mean 'model'?",
        ),
        ('\n[chat]\nmodle = "x/y"\n', "chat.modle (line 3): there is no such key. Did you mean 'model'?"),
        ("[chat]\nmax_turns = 0\n", "chat.max_turns (line 2): must be greater than 0."),
        ('[permissions]\ndefault = "yes"\n', "permissions.default (line 2): must be 'allow', 'ask' or 'deny'."),
        ("[permissions]\nallow = 'x/*'\n", "permissions.allow (line 2): must be a list."),
        ("[permissions]\nallow = ['x/*', 3]\n", "permissions.allow.1: must be a text."),
        (
            "[permissions]\ndefault = 'alow'\n",
            "permissions.default (line 2): must be 'allow', 'ask' or 'deny'. Did you mean 'allow'?",
        ),
        ("[chat]\nmax_turns = '3x'\n", "chat.max_turns (line 2): must be a whole number."),
        ("[chat]\nmax_turns = 1.5\n", "chat.max_turns (line 2): must be a whole number."),
        ("[chat]\ntimeout = 'long'\n", "chat.timeout (line 2): must be a number."),
        ("[chat]\nroots = [' ']\n", "chat.roots.0: must be a text, and not empty."),
        ("[sampling]\nmodels = 3\n", "sampling.models (line 2): must be a table."),
        ("[sampling]\nmax_requests_per_turn = -1\n", "sampling.max_requests_per_turn (line 2): must be 0 or more."),
        ("chat = 3\n", "chat (line 1): must be a table."),
        ("[elicitation]\nanswr = 1\n", "elicitation.answr (line 2): there is no such key. Did you mean 'answer'?"),
        ("servers = 3\n", "servers (line 1): must be a table."),
    ],
)
def test_a_fault_outside_of_an_entry_names_file_line_key_and_the_nearest_key(
    place: Place, text: str, sentence: str
) -> None:
    place.write(text)
    assert place.error() == f"{place.user / 'config.toml'}: {sentence}"


def test_a_file_that_is_no_toml_or_cannot_be_read_is_named(place: Place) -> None:
    place.write("a = [1,\n")
    assert place.error().startswith(f"{place.user / 'config.toml'} is not valid TOML: ")
    (place.user / "config.toml").write_bytes(b"a = '\xff'")
    assert place.error() == f"{place.user / 'config.toml'} is not UTF-8 text."
    missing = place.project / "nowhere.toml"
    assert place.error(Options(config=Path("nowhere.toml"))) == f"{missing} cannot be read: No such file or directory."


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("comand = 'x'", "servers.bad.comand (line 4): there is no such key. Did you mean 'command'?"),
        ("args = ['x']", "servers.bad.command: is missing; a server needs command, url or bundled."),
        ("command = 'x'\nurl = 'http://h'", "servers.bad: command and url exclude each other."),
        ("command = ['x']", "servers.bad.command (line 4): must be a text."),
        ("command = 'x'\nenv.T = '${NOPE}'", "servers.bad.env.T: the environment variable NOPE is not set."),
        ("command = 'x'\ntimeout = -1", "servers.bad.timeout (line 5): must be greater than 0."),
        ("command = 'x'\ntools.dny = []", "servers.bad.tools.dny: there is no such key. Did you mean 'deny'?"),
        ("url = 'ftp://h/mcp'", "servers.bad.url: is no address of a server; write https://HOST/PATH."),
        ("command = 'x'\nauth = 'oauth'", "servers.bad.auth: only a server with a url can be signed in to."),
        ("url = 'https://h/mcp'\noauth.grant = 'client_credentials'", "servers.bad.oauth: grant = "
         "\"client_credentials\" needs client_id, and either client_secret or private_key."),
        ("url = 'https://h/mcp'\noauth.private_key = 'k.pem'", "servers.bad.oauth: private_key is for grant = "
         "\"client_credentials\"."),
        ("url = 'https://h/mcp'\noauth.client_secret = 'hush'", "servers.bad.oauth: client_secret needs its "
         "client_id."),
        ("url = 'https://h/mcp'\noauth.client_metadata_url = 'http://h/c'", "servers.bad.oauth: client_metadata_url "
         "must begin with https:// and have a path."),
        ("url = 'https://h/mcp'\nprotocol = '2024'", "servers.bad.protocol (line 5): must be 'auto', '2024-11-05', "
         "'2025-03-26', '2025-06-18', '2025-11-25' or '2026-07-28'. Did you mean '2024-11-05'?"),
        ("command = 'x'\ntrust = 'maybe'", "servers.bad.trust (line 5): must be true or false."),
        ("command = 'x'\nenv = ['A']", "servers.bad.env (line 5): must be a table."),
        ("url = 'https://h/mcp'\noauth.redirect_port = 70000", "servers.bad.oauth.redirect_port: must be less than "
         "65536."),
        ("command = 'x'\nelicitation = 'no.json'", "servers.bad.elicitation: {folder}/no.json (answers to servers' "
         "questions) cannot be read: No such file or directory."),
    ],
)  # fmt: skip
def test_a_fault_within_a_server_leaves_out_that_server_only(place: Place, table: str, reason: str) -> None:
    place.write(f"[servers.good]\ncommand = 'y'\n[servers.bad]\n{table}\n")
    config = place.resolve()
    assert list(config.servers) == ["good"]
    path = place.user / "config.toml"
    assert reasons(config) == [("bad", f"{path}: {reason.format(folder=place.user)}")]


def test_a_server_that_is_left_out_may_be_required(place: Place) -> None:
    place.write("[servers.bad]\nrequired = true\nargs = []\n")
    assert [entry.required for entry in place.resolve().disabled] == [True]


def test_a_server_that_is_no_table_or_has_an_impossible_name_is_left_out(place: Place) -> None:
    place.write('[servers]\nx = 3\n"a/b" = {command = "c"}\n')
    path = place.user / "config.toml"
    assert reasons(place.resolve()) == [
        ("x", f"{path}: servers.x: must be a table."),
        ("a/b", f"{path}: servers.a/b: a server's name may not be empty or hold '/' or control characters."),
    ]


# Variables, paths, secrets


def test_variables_are_filled_in_once_and_a_bare_dollar_stays(place: Place) -> None:
    place.write(
        "[servers.x]\ncommand = 'x'\n"
        "env = {A = '${HERE}', B = '${MISSING:-dflt}', C = 'a$b$$', D = '${E}', F = '${EMPTY}', G = '${EMPTY:-g}'}\n"
    )
    config = place.resolve(HERE="/home/me", E="${HERE}", EMPTY="")
    environment = {"A": "/home/me", "B": "dflt", "C": "a$b$$", "D": "${HERE}", "F": "", "G": "g"}
    assert config.servers["x"].environment == environment


def test_paths_are_relative_to_their_file_and_a_bare_command_is_not_a_path(place: Place) -> None:
    place.write(
        "[servers.x]\ncommand = 'python3'\nargs = ['a.py']\ncwd = '.'\nroots = ['..', '~']\n"
        "[servers.y]\ncommand = 'bin/y'\n[providers.mock]\nscript = 'play.toml'\n"
    )
    config = place.resolve()
    x = config.servers["x"]
    assert (x.argv, x.cwd) == (("python3", "a.py"), str(place.user))
    assert x.roots == (str(place.user.parent), str(Path.home()))
    assert config.servers["y"].argv == (str(place.user / "bin/y"),)
    mock = config.providers["mock"]
    assert not isinstance(mock, Disabled)
    assert mock.script == place.user / "play.toml"


def test_secrets_are_masked_wherever_text_is_shown(place: Place) -> None:
    place.write(
        "[servers.x]\ncommand = 'x'\nargs = ['--key=${MY_TOKEN}']\nenv = {GH_TOKEN = 'ghp_abc1', LOG = 'info'}\n"
        "[providers.local]\nkind = 'openai'\nbase_url = 'https://u:pw55@h/v1?api_key=zzzzzz'\napi_key = 'sk-12345'\n"
        "headers = {Authorization = 'Bearer abc999'}\n"
        "[servers.y]\nurl = 'https://me:hushed%21@h/mcp?mode=fast&sig=0123456789abcdefg&api_key=zzz'\n"
        "headers = {X-Key = 'h-5555'}\n"
    )
    config = place.resolve(MY_TOKEN="tok-777", OPENAI_API_KEY="sk-real")
    text = "info tok-777 ghp_abc1 u:pw55 zzzzzz sk-12345 Bearer abc999 abc999 sk-real"
    assert config.mask(text) == "info *** *** *** *** *** *** *** ***"
    text = "fast https://me:hushed%21@h/mcp?api_key=zzz hushed! 0123456789abcdefg h-5555"
    assert config.mask(text) == "fast https://***@h/mcp?*** *** *** ***"
    shown = repr(config)
    assert not [secret for secret in ("ghp_abc1", "sk-12345", "abc999", "sk-real") if secret in shown]


def test_a_short_value_is_not_masked_since_it_stands_within_ordinary_words(place: Place) -> None:
    place.write("[providers.openai]\napi_key = 'x'\n[servers.a]\ncommand = 'a'\nenv = {KEY = 'serve'}\n")
    assert place.resolve().mask("The next server exits.") == "The next server exits."


# The two files together


def test_the_project_s_values_win_over_the_user_s(place: Place) -> None:
    place.write(
        "[chat]\nmodel = 'mock/demo'\nmax_turns = 5\n[models]\na = 'mock/demo'\n",
        "[chat]\nmodel = 'mock/script'\n[models]\nb = 'mock/demo'\n",
    )
    config = place.resolve()
    assert (config.model, config.settings.chat.max_turns) == ("mock/script", 5)
    assert config.settings.models == {"a": "mock/demo", "b": "mock/demo"}


def test_the_stricter_permission_wins(place: Place) -> None:
    place.write(
        "[permissions]\ndefault = 'allow'\nallow = ['a/*']\ndeny = ['x/*']\n[sampling]\napprove = 'deny'\n",
        "[permissions]\ndefault = 'ask'\nallow = ['b/*']\ndeny = ['y/*']\n[sampling]\napprove = 'allow'\n",
    )
    config = place.resolve()
    permissions = config.settings.permissions
    assert (permissions.default, permissions.allow, permissions.deny) == ("ask", ("a/*", "b/*"), ("x/*", "y/*"))
    assert config.settings.sampling.approve == "deny"


def test_a_project_s_file_cannot_permit_what_the_user_does_not(place: Place) -> None:
    place.write(
        project="[permissions]\ndefault = 'allow'\nallow = ['*']\n[sampling]\napprove = 'allow'\n"
        "[elicitation]\nanswer = 'defaults'\n"
        "[servers.x]\ncommand = 'x'\ntrust = true\nsampling = 'allow'\nelicitation = 'defaults'\ntools.allow = ['*']\n"
    )
    agree_to(place.resolve())
    config = place.resolve()
    assert (config.tool_policy.decide("x", "tool"), config.servers["x"].trust) == ("ask", False)
    assert (config.approval("x"), config.form_answer("x")) == ("ask", "ask")
    path = place.project / "mcp-chat.toml"
    vain = ["permissions.default", "permissions.allow", "sampling.approve", "elicitation.answer"]
    assert config.notices == (
        *(
            f"{path}: {key} has no effect: a project's file may not permit more than your own file does."
            for key in vain
        ),
        f"{path}: servers.x.trust has no effect: your own file must trust the server.",
    )


def test_a_project_s_server_is_held_to_the_user_s_table_of_its_name(place: Place) -> None:
    place.write(
        "[servers.x]\ncommand = 'x'\ntrust = true\nsampling = 'deny'\nelicitation = 'decline'\ntools.deny = ['a']\n",
        "[servers.x]\ncommand = 'y'\ntrust = true\nsampling = 'allow'\ntools.deny = ['b']\n",
    )
    agree_to(place.resolve())
    table = place.resolve().servers["x"]
    assert (table.command, table.trust, table.sampling, table.elicitation) == ("y", True, "deny", "decline")
    assert table.tools.deny == ("a", "b")


def test_a_file_that_was_asked_for_replaces_both_and_is_consent(place: Place) -> None:
    place.write("[servers.u]\ncommand = 'u'\n", "[servers.p]\ncommand = 'p'\n[permissions]\ndefault = 'allow'\n")
    config = place.resolve(Options(config=Path("mcp-chat.toml")))
    assert (list(config.servers), config.consent, config.settings.permissions.default) == (["p"], None, "allow")


# Consent


def agree_to(config: Config) -> None:
    assert config.consent is not None
    agree(config.consent)


def test_servers_of_a_project_wait_for_consent_to_their_exact_commands(place: Place) -> None:
    place.write(
        "[servers.mine]\ncommand = 'm'\n",
        "[servers.x]\ncommand = 'npx'\nargs = ['-y', 'a b']\nenv = {T = '${SECRET_TOKEN}'}\ncwd = 'sub'\n",
    )
    config = place.resolve(SECRET_TOKEN="t-4321")
    path = place.project / "mcp-chat.toml"
    assert list(config.servers) == ["mine"]
    assert config.consent is not None
    assert config.consent.path == path
    assert config.consent.lines == (f"x: T='${{SECRET_TOKEN}}' npx -y 'a b' (in {place.project / 'sub'})",)
    assert reasons(config) == [
        (
            "x",
            f"{path}: servers.x: nobody has agreed to it yet. Start mcp-chat in a terminal in that folder to be asked, "
            "or name the file with -c.",
        )
    ]


def test_consent_is_remembered_until_the_command_changes(place: Place) -> None:
    place.write(project="[servers.x]\ncommand = 'x'\n[servers.y]\ncommand = 'y'\n")
    agree_to(place.resolve())
    assert (place.resolve().consent, list(place.resolve().servers)) == (None, ["x", "y"])
    place.write(project="[servers.x]\ncommand = 'x'\nargs = ['--evil']\n[servers.y]\ncommand = 'y'\n")
    changed = place.resolve()
    assert changed.consent is not None
    assert (changed.consent.lines, list(changed.servers)) == (("x: x --evil",), ["y"])


def test_consent_is_for_one_path(place: Place, tmp_path: Path) -> None:
    place.write(project="[servers.x]\ncommand = 'x'\n")
    agree_to(place.resolve())
    (tmp_path / "mcp-chat.toml").write_text("[servers.x]\ncommand = 'x'\n")
    assert resolve(Options(), place.environ, tmp_path).consent is not None


def test_the_memory_of_consent_is_private_and_survives_damage(place: Place) -> None:
    place.write(project="[servers.x]\ncommand = 'x'\n")
    agree_to(place.resolve())
    memory = Path(place.environ["MCP_CHAT_DATA_DIR"]) / "consent.json"
    assert stat.S_IMODE(memory.stat().st_mode) == 0o600
    assert os.listdir(memory.parent) == ["consent.json"]
    for damaged in ("", "[]", '{"' + str(place.project / "mcp-chat.toml") + '": 3}'):
        memory.write_text(damaged)
        assert place.resolve().consent is not None
    agree_to(place.resolve())
    assert place.resolve().consent is None


def test_a_project_s_provider_may_not_lure_a_key_to_another_host(place: Place) -> None:
    place.write(
        project="[providers.openai]\nbase_url = 'https://evil.example/v1'\napi_key = '${OPENAI_API_KEY}'\n"
        "[providers.local]\nkind = 'openai'\nbase_url = 'http://127.0.0.1:8080/v1'\n"
    )
    config = place.resolve(Options(model="local/m"), **KEYS)
    assert isinstance(config.consent, Consent)
    assert config.consent.lines == (
        "openai: sends the conversation, and its API key if it has one, to https://evil.example/v1",
    )
    assert isinstance(config.providers["openai"], Disabled)
    assert not isinstance(config.providers["local"], Disabled)


def test_a_project_s_remote_server_is_agreed_to_with_what_it_is_sent(place: Place) -> None:
    place.write(project="[servers.far]\nurl = 'https://far.example/mcp?k=${KEY}'\nheaders = {X-Key = '${KEY}'}\n")
    config = place.resolve(KEY="sk-12345")
    assert config.servers == {}
    assert isinstance(config.consent, Consent)
    assert config.consent.lines == ("far: connects to https://far.example/mcp?k=${KEY}, with X-Key: ${KEY}",)


# Models


@pytest.mark.parametrize(
    ("keys", "model", "reason"),
    [
        (["OPENAI_API_KEY", "ANTHROPIC_API_KEY"], "openai/gpt-6.1-terra", "OPENAI_API_KEY is set."),
        (["ANTHROPIC_API_KEY"], "anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY is set."),
        ([], "mock/demo", "neither OPENAI_API_KEY nor ANTHROPIC_API_KEY is set."),
    ],
)
def test_without_a_choice_the_keys_decide_and_it_says_so(
    place: Place, keys: list[str], model: str, reason: str
) -> None:
    config = place.resolve(**{key: KEYS[key] for key in keys})
    assert config.model == model
    assert config.model_reason.startswith("No model is configured, and ")
    assert config.model_reason.endswith(reason)


def test_the_command_line_s_model_beats_the_file_s_and_may_be_an_alias(place: Place) -> None:
    place.write("[chat]\nmodel = 'mock/script'\n[models]\nfast = 'local/org/m'\n[providers.local]\nkind = 'openai'\n")
    assert place.resolve().model == "mock/script"
    config = place.resolve(Options(model="fast"))
    assert (config.model, config.model_reason) == ("local/org/m", "fast was asked for.")


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("opnai/x", "opnai/x: there is no provider 'opnai'. Did you mean 'openai'?"),
        ("mock/nope", "mock/nope: there is no such model. There are: demo, script."),
        ("fats", "'fats' is neither PROVIDER/MODEL nor an alias. Did you mean 'fast'?"),
        ("opnai", "'opnai' is neither PROVIDER/MODEL nor an alias. Did you mean 'openai/MODEL'?"),
        ("openai/", "'openai/' is a provider without a model: write openai/MODEL."),
        ("local", "'local' is a provider without a model: write local/MODEL."),
        ("bare", "'local' is a provider without a model: write local/MODEL."),
    ],
)
def test_a_model_that_does_not_exist_is_refused_with_the_nearest(place: Place, model: str, sentence: str) -> None:
    place.write("[models]\nfast = 'mock/demo'\nbare = 'local'\n[providers.local]\nkind = 'openai'\n")
    assert place.error(Options(model=model)) == sentence


def test_a_fault_in_the_chosen_provider_is_an_error_and_in_another_is_not(place: Place) -> None:
    place.write("[providers.local]\nkind = 'openai'\napi_key = '${NOPE}'\n[providers.odd]\napi = 'chat'\n")
    path = place.user / "config.toml"
    assert reasons(place.resolve()) == [
        ("local", f"{path}: providers.local.api_key: the environment variable NOPE is not set."),
        ("odd", f"{path}: providers.odd.kind: is missing; it is one of openai, anthropic, mock."),
    ]
    assert place.error(Options(model="local/m")) == (
        f"local/m cannot be used: {path}: providers.local.api_key: the environment variable NOPE is not set."
    )


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("kind = 'opnai'", "kind (line 2): must be 'openai', 'anthropic' or 'mock'. Did you mean 'openai'?"),
        ("kind = 'openai'\nbase_url = 'notaurl'", "base_url: is no address; write http://HOST or https://HOST."),
        ("kind = 'openai'\nbase_url = 'http://h:x/'", "base_url: is no address; write http://HOST or https://HOST."),
        ("kind = 'openai'\nheaders = {A = 1}", "headers.A: must be a text."),
    ],
)
def test_a_fault_within_a_provider_names_file_and_key_and_leaves_out_that_provider_only(
    place: Place, table: str, reason: str
) -> None:
    place.write(f"[providers.local]\n{table}\n")
    sentence = f"{place.user / 'config.toml'}: providers.local.{reason}"
    assert reasons(place.resolve()) == [("local", sentence)]
    assert place.error(Options(model="local/m")) == f"local/m cannot be used: {sentence}"


def test_a_key_in_the_environment_goes_to_the_vendor_alone(place: Place) -> None:
    place.write("[providers.openai]\nbase_url = 'https://elsewhere.example/v1'\n")
    config = place.resolve(**KEYS)
    openai, anthropic = config.providers["openai"], config.providers["anthropic"]
    assert not isinstance(openai, Disabled)
    assert not isinstance(anthropic, Disabled)
    assert (openai.api_key, anthropic.api_key) == (None, "sk-ant-1234")


# Options


def test_yes_allows_all_but_what_is_denied(place: Place) -> None:
    place.write("[servers.x]\ncommand = 'x'\ntools.deny = ['rm*']\n[permissions]\ndeny = ['y/*']\n")
    policy = place.resolve(Options(yes=True, deny=("x/put",))).tool_policy
    tools = [("x", "get"), ("x", "rm_all"), ("x", "put"), ("y", "get")]
    assert [policy.decide(*tool) for tool in tools] == ["allow", "deny", "deny", "deny"]


@pytest.mark.parametrize("name", ["files [work]", "a?b", "x*"])
def test_a_server_s_rules_hold_for_that_server_whatever_it_is_called(place: Place, name: str) -> None:
    place.write(
        f"[servers.'{name}']\ncommand = 'x'\ntools = {{ allow = ['get_*'], deny = ['delete_*'] }}\n"
        "[servers.other]\ncommand = 'x'\n[servers.xy]\ncommand = 'x'\n"
    )
    policy = place.resolve().tool_policy
    tools = ("delete_all", "get_all", "put")
    assert [policy.decide(name, tool) for tool in tools] == ["deny", "allow", "ask"]
    assert [policy.decide(other, tool) for other in ("other", "xy") for tool in tools] == ["ask"] * 6


def test_a_default_of_deny_withstands_yes_but_not_a_pattern(place: Place) -> None:
    place.write("[permissions]\ndefault = 'deny'\n")
    policy = place.resolve(Options(yes=True, allow=("x/get",))).tool_policy
    assert [policy.decide("x", "get"), policy.decide("x", "put")] == ["allow", "deny"]


def test_options_beat_the_files_except_where_a_server_is_forbidden_something(place: Place) -> None:
    place.write(
        "[chat]\nmax_turns = 3\n[servers.a]\ncommand = 'a'\nsampling = 'ask'\n"
        "[servers.b]\ncommand = 'b'\nsampling = 'deny'\nelicitation = 'decline'\n"
    )
    (place.project / "system.txt").write_text("Be brief.")
    config = place.resolve(Options(sampling="allow", elicit="defaults", max_turns=7, system="@system.txt", timeout=1.5))
    assert [config.approval(server) for server in "ab"] == ["allow", "deny"]
    assert [config.form_answer(server) for server in "ab"] == ["defaults", "decline"]
    chat = config.settings.chat
    assert (chat.max_turns, chat.system, chat.timeout) == (7, "Be brief.", 1.5)


def test_answers_are_read_from_a_file_and_its_faults_are_named(place: Place) -> None:
    file = place.project / "answers.json"
    file.write_text('{"demo": {"seat": "12A"}, /* more */ }')
    config = place.resolve(Options(elicit="answers.json"))
    assert config.answers == {str(file): {"demo": {"seat": "12A"}}}
    file.write_text('{"demo": 1}')
    assert place.error(Options(elicit="answers.json")) == (
        f"{file} must be a JSON object that holds, for each server, an object of its fields' answers."
    )
    assert place.error(Options(elicit="defualts")).startswith(f"{place.project / 'defualts'} (answers to servers'")


def test_a_system_prompt_s_file_that_is_not_there_is_named(place: Place) -> None:
    assert place.error(Options(system="@nowhere.txt")) == "--system @nowhere.txt: the file cannot be read."
