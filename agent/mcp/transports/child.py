"""A server process: started in its own process group with a minimal environment, and reliably terminated.

Shutdown has the steps of the specification (section "Transports, stdio, shutdown"): close its stdin, wait, terminate
the group, wait, kill the group. Processes that the server started belong to the group and are terminated too, even if
the server itself has exited already.
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

EOF_SECONDS = 0.6  # for a server to exit after its stdin is closed; short, as a person waits for it
TERM_SECONDS = 0.4
KILL_SECONDS = 1.0
POLL_SECONDS = 0.02
SHOWN_OF_STDERR = 1_000  # characters of stderr in a sentence about the exit

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
        """Wait until the process itself has exited. Its child processes may still run."""
        await self._process.wait()

    async def sweep(self) -> None:
        """Terminate the rest of the group, once: when it is empty, the system may reuse its id for other processes."""
        for knock, seconds in ((signal.SIGTERM, TERM_SECONDS), (_KILL, KILL_SECONDS)):
            if not self._swept and self._signal(knock):
                with anyio.move_on_after(seconds):
                    await self._gone()
        self._swept = True

    async def end(self) -> None:
        """All steps of the shutdown, at most two seconds. Call it shielded, while another task reads the output."""
        await self.stdin.aclose()
        with anyio.move_on_after(EOF_SECONDS):
            await self.wait()
        await self.sweep()

    async def close(self) -> None:
        """Close the pipes."""
        await self.stdout.aclose()
        if self._process.returncode is not None:  # if it could not even be killed, waiting for it would not end
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
        """Signal the group; False if no process of it is left."""
        try:
            _send_signal(self._process, number)
        except ProcessLookupError:
            return False
        except PermissionError:  # it runs as another user now, and cannot be signalled
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
    """A few harmless variables of our environment, and `added`. Others are not inherited: they may be secret."""
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
