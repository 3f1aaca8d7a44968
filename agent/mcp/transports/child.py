"""A server's process: started in a group of its own with a small environment, and ended for certain.

Ending follows the ladder of the specification (section "Transports, stdio, shutdown"): close its stdin, wait, terminate
the group, wait, kill the group. What the server started belongs to the group and goes with it, also if the server
itself is gone already.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from subprocess import PIPE

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from agent.mcp.envelope import ConnectionLost
from agent.mcp.transports.pipe import PipeReader, PipeWriter, large_pipe

EOF_SECONDS = 0.6  # for a server to leave by itself once its stdin is closed; a person waits for it
TERM_SECONDS = 0.4
KILL_SECONDS = 1.0
POLL_SECONDS = 0.02
SHOWN_OF_STDERR = 1_000  # characters of it in a sentence about the end

Folder = str | os.PathLike[str] | None

INHERITED = ("PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL", "LOGNAME")
INHERITED_ON_WINDOWS = (
    *("APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE"),
    *("PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"),
)


class Child:
    """Made by `spawn`. `program` is its name for people."""

    def __init__(self, process: Process, stdin: ByteSendStream, stdout: ByteReceiveStream, program: str) -> None:
        assert process.stderr
        self.stdin, self.stdout = stdin, stdout
        self.stderr: ByteReceiveStream = process.stderr
        self.program = program
        self._process = process
        self._swept = False

    async def wait(self) -> None:
        """Until the process itself has exited. What it started may live on."""
        await self._process.wait()

    async def sweep(self) -> None:
        """End what is left of the group. Once it is empty its number may be given to strangers, so never again."""
        for knock, seconds in ((signal.SIGTERM, TERM_SECONDS), (_KILL, KILL_SECONDS)):
            if not self._swept and self._signal(knock):
                with anyio.move_on_after(seconds):
                    await self._gone()
        self._swept = True

    async def end(self) -> None:
        """The whole ladder, at most two seconds. To be called under a shield, while somebody drains its output."""
        await self.stdin.aclose()
        with anyio.move_on_after(EOF_SECONDS):
            await self.wait()
        await self.sweep()

    async def close(self) -> None:
        """Let go of the pipes."""
        await self.stdout.aclose()
        if self._process.returncode is not None:  # else it cannot even be killed, and waiting for it would not end
            await self._process.aclose()

    def obituary(self, heard: bool, stderr: str) -> str:
        """A sentence on how it ended. `heard`: it sent at least one message."""
        code = self._process.returncode
        if code is None:
            how = f"{self.program} closed its output"
        elif code < 0:
            how = f"{self.program} was killed by {_signal_name(-code)}"
        else:
            how = f"{self.program} exited with code {code}"
        when = "" if heard else " before it answered anything"
        said = stderr.strip()[-SHOWN_OF_STDERR:]
        return f"{how}{when}." + (f" The end of its stderr:\n{said}" if said else " Its stderr is empty.")

    async def _gone(self) -> None:
        await self.wait()
        while self._signal(0):  # noqa: ASYNC110 — a group has no event for its end
            await anyio.sleep(POLL_SECONDS)

    def _signal(self, number: int) -> bool:
        """False if there is nobody left to take it."""
        try:
            _send_signal(self._process, number)
        except ProcessLookupError:
            return False
        except PermissionError:  # it became someone else, and is beyond our reach
            return False
        return True


async def spawn(command: Sequence[str], env: Mapping[str, str] | None, cwd: Folder) -> Child:
    """Start a server.

    Raises:
        ConnectionLost: it could not be started; the sentence says what to do.
    """
    try:
        process, stdin, stdout = await _open(list(command), environment(env), cwd)
    except (OSError, ValueError) as error:
        raise ConnectionLost(_excuse(command[0], cwd, error)) from error
    return Child(process, stdin, stdout, os.path.basename(command[0]))


def environment(added: Mapping[str, str] | None = None) -> dict[str, str]:
    """A few harmless variables of ours, and what was asked for. Secrets in ours are none of a server's business."""
    names = INHERITED_ON_WINDOWS if sys.platform == "win32" else INHERITED
    kept = {name: value for name, value in os.environ.items() if name in names or name.startswith("LC_")}
    return kept | dict(added or {})


def _excuse(program: str, cwd: Folder, error: OSError | ValueError) -> str:
    if cwd is not None and not os.path.isdir(cwd):
        return f"The folder {os.fspath(cwd)!r}, in which {program!r} is to run, does not exist."
    match getattr(error, "errno", None):
        case errno.ENOENT:
            return f"The command {program!r} was not found. Install it, or give its full path."
        case errno.EACCES:
            return f"The command {program!r} may not be executed. Make it executable, or name its interpreter first."
        case errno.ENOEXEC:
            return f"The command {program!r} is no program. Name its interpreter first, as in 'python3 {program}'."
    return f"The command {program!r} could not be started: {error}."


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"


Opened = tuple[Process, ByteSendStream, ByteReceiveStream]

if sys.platform == "win32":
    _KILL = signal.SIGTERM

    async def _open(command: list[str], env: dict[str, str], cwd: Folder) -> Opened:
        process = await anyio.open_process(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env, cwd=cwd)
        assert process.stdin
        assert process.stdout
        return process, process.stdin, process.stdout

    def _send_signal(process: Process, number: int) -> None:
        if process.returncode is not None:
            raise ProcessLookupError
        if number:
            process.kill()

else:
    _KILL = signal.SIGKILL

    async def _open(command: list[str], env: dict[str, str], cwd: Folder) -> Opened:
        stdin, to_server = large_pipe()
        from_server, stdout = large_pipe()
        try:
            process = await anyio.open_process(
                command, stdin=stdin, stdout=stdout, stderr=PIPE, env=env, cwd=cwd, start_new_session=True
            )
        except BaseException:
            os.close(to_server)
            os.close(from_server)
            raise
        finally:
            os.close(stdin)
            os.close(stdout)
        return process, PipeWriter(to_server), PipeReader(from_server)

    def _send_signal(process: Process, number: int) -> None:
        os.killpg(process.pid, number)
