"""What the operating system knows of a process: its children, its time on a processor, its peak memory.

All of it comes from Linux's /proc; elsewhere the rows that need it are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

KNOWN = Path("/proc/self/schedstat").exists()
"""Whether this system tells."""


def family(pid: int) -> list[int]:
    """A process and its children."""
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [pid, *(int(child) for tasks in listed for child in tasks.read_text().split())]


def cpu_seconds(pid: int) -> float:
    """How long its threads have been on a processor, in user space and in the kernel, to the nanosecond."""
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def peak_bytes(pid: int) -> int:
    """The most memory it has held at once since the last `forget_peak`."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found.group(1)) * 1024 if found else 0


def forget_peak(pid: int) -> None:
    """From now on the peak is what it holds now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
