#!/usr/bin/env python3
"""Looks at the machine code of libraries: every function that uses registers of 32 or 64 bytes has a vzeroupper.

    check.py OBJDUMP LIBRARY...

Code for SSE keeps the upper halves of the registers that it writes. If a kernel for AVX leaves something in them, then
whatever runs next for SSE (the caller, a library for old machines) takes several times as long, and nothing says why.
Compilers write vzeroupper before a return by themselves, but not under every choice of passes. The code of all
instruction sets is looked at, on any x86 machine. Registers 16 to 31 do not count: no code for SSE can name them.
"""
import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\t(\S+)(.*)$")
WIDE = re.compile(r"%[yz]mm(?:[0-9]|1[0-5])\b")


def functions(lines):
    """For each function its name, whether it uses wide registers, and whether it clears their upper halves."""
    name, uses, clears = None, False, False
    for line in lines:
        function = FUNCTION.match(line)
        if function:
            if name:
                yield name, uses, clears
            name, uses, clears = function.group(1), False, False
            continue
        instruction = INSTRUCTION.match(line)
        if instruction:
            clears = clears or instruction.group(1) in ("vzeroupper", "vzeroall")
            uses = uses or bool(WIDE.search(instruction.group(2)))
    if name:
        yield name, uses, clears


def main(objdump, *libraries):
    wide, dirty = 0, []
    for library in libraries:
        with subprocess.Popen([objdump, "--disassemble", "--demangle", "--no-show-raw-insn", library],
                              stdout=subprocess.PIPE, text=True) as process:
            for name, uses, clears in functions(process.stdout):
                wide += uses
                if uses and not clears:
                    dirty.append(name)
        assert process.returncode == 0, "%s cannot read %s" % (objdump, library)
    print("%d functions use registers of 32 or 64 bytes; %d leave their upper halves as they are" % (wide, len(dirty)))
    for name in dirty[:20]:
        print("  " + name)
    assert wide > 0, "no such function was found: there are no SIMD kernels, or objdump changed"
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
