"""What all behaviours share: the command under test, and large files that take no space."""
import math
import signal
import struct
import subprocess
import sys
import time

import tensors

# Seconds after which a command counts as hung. No test depends on how fast the machine is.
HUNG = 1800
# What the command warns of where it has measured the machine's speeds and another program ran at that time.
DISTURBED = "the speeds of this machine could not be measured well"


class Command:
    """The command under test, in its own empty directory."""

    def __init__(self, binary, env, directory):
        self.binary, self.env, self.directory = str(binary), env, directory

    def path(self, name):
        return str(self.directory / name)

    def run(self, *args, **options):
        options.setdefault("capture_output", True)
        env = dict(self.env, **options.pop("more_env", {}))
        result = subprocess.run([self.binary, *map(str, args)], cwd=self.directory, env=env, timeout=HUNG, text=True,
                                **options)
        # Other work on the machine may disturb how its speeds are measured; no test but its own is about that.
        lines = (result.stderr or "").splitlines(True)
        quiet = [line for line in lines if DISTURBED not in line]
        result.disturbed = len(quiet) < len(lines)
        if result.disturbed:
            result.stderr = "".join(quiet)
        return result

    def ok(self, *args, **options):
        result = self.run(*args, **options)
        assert result.returncode == 0, "%s: exit code %d: %s" % (args, result.returncode, result.stderr)
        return result.stdout

    def start(self, *args):
        # A shell in the background ignores SIGINT, and its children would inherit that.
        return subprocess.Popen([self.binary, *args], cwd=self.directory, env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True,
                                preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL)
                                                    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                                                              signal.SIGQUIT)])

    def start_interruptible(self, *args):
        """Starts the command and returns once it has installed its handlers: from then on an interrupt is answered."""
        process = self.start(*args)
        wait_until(process, lambda: catches(process.pid, signal.SIGINT))
        return process

    def files(self):
        return sorted(entry.name for entry in self.directory.iterdir())


def catches(pid, signal_number):
    """Whether a process has a handler of that signal."""
    with open("/proc/%d/status" % pid) as file:
        (caught,) = [line.split()[1] for line in file if line.startswith("SigCgt:")]
    return bool(int(caught, 16) >> (signal_number - 1) & 1)


def wait_until(process, happened):
    """Waits until something has happened or the process has ended, however long that takes."""
    while process.poll() is None and not happened():
        time.sleep(0.001)


def expect(actual, wanted, what):
    assert actual == wanted, "%s: %r, expected %r" % (what, actual, wanted)


def comma(values):
    return ",".join(map(str, values))


def sparse_npy(path, shape, descr="<f4"):
    """A large .npy of zeros that takes no space. Returns the offset of its data."""
    head = tensors.npy_bytes((1,), descr)
    head = head[:10] + head[10:].replace(b"(1,)", str(tuple(shape)).encode())
    text = head[10:head.index(b"\n") + 1].rstrip(b"\n").rstrip()
    text += b" " * ((64 - (10 + len(text) + 1) % 64) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(head[:8] + struct.pack("<H", len(text)) + text)
        start = file.tell()
        file.truncate(start + math.prod(shape) * int(descr[2:]))
    return start


# Prints the exit code and the peak memory of a command in KiB. A process counts as its own what its parent held when it
# was started, and the tests may hold much: so a small process starts it.
PEAK = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def check_peak(command, cap, *args):
    """Peak memory under a cap in MiB, with 40 MiB for the program itself."""
    measured = subprocess.run([sys.executable, "-I", "-S", "-c", PEAK, command.binary, *args, "--max-memory",
                               "%dM" % cap], cwd=command.directory, env=command.env, stdout=subprocess.PIPE, check=True)
    code, kilobytes = map(int, measured.stdout.split())
    expect(code, 0, "exit code of %s" % args[0])
    peak = kilobytes / 1024
    assert peak < cap + 40, "%s: peak memory %.0f MiB under a cap of %d MiB" % (args, peak, cap)
