"""Process data from the operating system: children, processor time, peak memory.

It comes from Linux's /proc; elsewhere the rows that need it are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

KNOWN = Path("/proc/self/schedstat").exists()
"""Whether this system provides the data."""


def family(pid: int) -> list[int]:
    """A process and its children, by process id."""
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [pid, *(int(child) for tasks in listed for child in tasks.read_text().split())]


def cpu_seconds(pid: int) -> float:
    """The processor time of all its threads, user and kernel, in seconds with nanosecond resolution."""
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def peak_bytes(pid: int) -> int:
    """The peak memory of the process since the last `forget_peak`, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found.group(1)) * 1024 if found else 0


def forget_peak(pid: int) -> None:
    """Reset the peak memory to what the process holds now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
