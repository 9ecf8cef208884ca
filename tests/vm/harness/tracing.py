# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's tracepoints."""

from collections.abc import Iterator
from contextlib import contextmanager

from .guest import Guest
from .machine import UnsupportedError

TRACING = "/sys/kernel/tracing"
PROBES = f"{TRACING}/kprobe_events"


@contextmanager
def traced(guest: Guest, *events: str, only: str = "0") -> Iterator[None]:
    """Tracepoints ("ioband/ioband_hold") are on; the buffer is to be read inside.

    only is a filter, as "seq == 1"; "0" is none.
    """

    def switch(on: int) -> None:
        for event in events:
            guest.write(f"{TRACING}/events/{event}/filter", only if on else "0")
            guest.write(f"{TRACING}/events/{event}/enable", str(on))

    guest.write(f"{TRACING}/trace_clock", "mono")
    guest.write(f"{TRACING}/buffer_size_kb", "8192")
    guest.write(f"{TRACING}/trace", "")
    switch(1)
    try:
        yield
    finally:
        if guest.alive:
            switch(0)
            guest.write(f"{TRACING}/trace", "")


@contextmanager
def on_one_cpu(guest: Guest) -> Iterator[None]:
    """The other CPUs are offline, so that an emulator runs no code that is being patched.

    In a guest with parallel CPUs, a new probe has made a CPU jump to address 0.
    """
    cpus = "ls /sys/devices/system/cpu/cpu[1-9]*/online"
    files = guest.run(f"{cpus} 2>/dev/null || true").out.split()
    for file in files:
        guest.write(file, "0")
    try:
        yield
    finally:
        if guest.alive:
            for file in files:
                guest.write(file, "1")


@contextmanager
def probed(guest: Guest, function: str) -> Iterator[None]:
    """The trace has a line with a function's name whenever it is called."""
    if not guest.exists(PROBES):
        raise UnsupportedError("this kernel has no probes")
    guest.write(PROBES, f"p:called {function}")
    try:
        with traced(guest, "kprobes/called"):
            yield
    finally:
        if guest.alive:
            guest.write(PROBES, "")


@contextmanager
def calls_traced(guest: Guest, *functions: str) -> Iterator[None]:
    """The trace has a line for each call of one of some functions."""
    if not guest.exists(f"{TRACING}/set_ftrace_filter"):
        raise UnsupportedError("this kernel does not trace functions")
    # A write sets one of them; the shell goes on with the rest.
    guest.run(f"echo {' '.join(functions)} >{TRACING}/set_ftrace_filter")
    guest.write(f"{TRACING}/buffer_size_kb", "8192")
    guest.write(f"{TRACING}/trace", "")
    guest.write(f"{TRACING}/current_tracer", "function")
    try:
        yield
    finally:
        if guest.alive:
            guest.write(f"{TRACING}/current_tracer", "nop")
            guest.write(f"{TRACING}/set_ftrace_filter", "")
            guest.write(f"{TRACING}/trace", "")


def charged(guest: Guest) -> int:
    """What the bios in the trace were charged, added up in the guest."""
    add = "awk -F= '{ sum += $2 } END { print sum + 0 }'"
    return int(guest.run(f"grep -o ' charge=[0-9]*' {TRACING}/trace | {add}").out)


def most_calls(guest: Guest, function: str, *takes_lock: str) -> tuple[int, int]:
    """Calls of a function in the trace, and the most of a task since it last took a lock."""
    script = f"""
        / ({"|".join(takes_lock)}) / {{ since[$1] = 0 }}
        / {function} / {{ calls++; if (++since[$1] > most) most = since[$1] }}
        END {{ print calls + 0, most + 0 }}
    """
    guest.write(f"{TRACING}/tracing_on", "0")
    calls, most = guest.run(["awk", script, f"{TRACING}/trace"]).out.split()
    guest.write(f"{TRACING}/tracing_on", "1")
    return int(calls), int(most)
