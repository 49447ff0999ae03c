#!/usr/bin/env python3
"""Counts the instructions that reorders take on NEON and in plain C++, in an emulator.

    count.py REORDERS EMULATOR...      e.g. build/arm64/tests/neon/neon_reorders qemu-aarch64-static -L FOLDER

REORDERS is the program of reorders.cc. The emulator logs each instruction of the program that it executes, but none of
shared libraries, such as memcpy of the C library, which copies runs of 1024 bytes and more. What one more run of a
reorder adds to the log is what a run takes. Prints both counts, and fails if a reorder takes more of plain C++'s
instructions on NEON than reorders.cc allows.
"""
import os
import subprocess
import sys
import tempfile

# Where the emulator loads a program that may lie anywhere; shared libraries lie behind it.
PROGRAM = "0x5500000000+0x1000000"


def instructions(program, emulator, isa, reorder, runs):
    """The instructions of a whole process. The log goes through a pipe, as it has a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, "log")
        os.mkfifo(pipe)
        log_all = ["-singlestep", "-d", "exec,nochain", "-dfilter", PROGRAM, "-D", pipe]
        command = [*emulator, *log_all, program, isa, reorder, str(runs)]
        with subprocess.Popen(command) as process:
            with open(pipe, "rb") as log:
                count = sum(block.count(b"\n") for block in iter(lambda: log.read(1 << 20), b""))
            if process.wait() != 0:
                sys.exit(f"{' '.join(command)} ends with {process.returncode}")
    return count


def run_takes(program, emulator, isa, reorder):
    return instructions(program, emulator, isa, reorder, 2) - instructions(program, emulator, isa, reorder, 1)


def main():
    program, *emulator = sys.argv[1:]
    reorders = subprocess.run([*emulator, program], check=True, capture_output=True, text=True).stdout.splitlines()
    slow = []
    print(f"{'instructions of a run':32}{'scalar':>10}{'neon':>10}  share")
    for line in reorders:
        most, reorder = line.split(maxsplit=1)
        scalar, neon = (run_takes(program, emulator, isa, reorder) for isa in ("scalar", "neon"))
        print(f"{reorder:32}{scalar:10}{neon:10}  {neon / scalar:.2f}", flush=True)
        if neon > float(most) * scalar:
            slow.append(f"{reorder} (of at most {most})")
    if slow:
        sys.exit(f"more of plain C++'s instructions than allowed: {', '.join(slow)}")


if __name__ == "__main__":
    main()
