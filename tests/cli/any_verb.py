"""What holds for any verb: closed pipes, full devices, terminals, JSON. Also doctor."""
import json
import os
import pty
import resource
import signal
import subprocess

import tensors
from shared import HUNG, expect, sparse_npy


def closed_pipe(command):
    reader, writer = os.pipe()
    os.close(reader)
    result = command.run("tags", capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    expect(result.returncode, -signal.SIGPIPE, "exit code")
    expect(result.stderr, "", "standard error")


def full_device(command):
    if not os.path.exists("/dev/full"):
        return "skipped: no /dev/full"
    with open("/dev/full", "w") as full:
        result = command.run("describe", "nchw", "--dims", "1,2,3,4", capture_output=False, stdout=full,
                             stderr=subprocess.PIPE)
    expect(result.returncode, 4, "describe")
    assert "No space left" in result.stderr, result.stderr
    tensors.write_npy(command.path("x.npy"), (2, 3))
    result = command.run("convert", "x.npy", "/dev/full", "--to", "ba", "-f")
    expect(result.returncode, 4, "convert")
    assert "No space left" in result.stderr, result.stderr
    expect(command.files(), ["x.npy"], "files")


def closed_standard_output(command):
    tensors.write_npy(command.path("x.npy"), (2, 3))
    result = subprocess.run('exec "%s" convert x.npy y.npy --to ba --explain >&-' % command.binary, shell=True,
                            cwd=command.directory, env=command.env, capture_output=True, text=True)
    expect(result.returncode, 4, "exit code")
    expect(tensors.read_npy(command.path("y.npy"))[3], [0, 3, 1, 4, 2, 5], "the file, written before the text")


def out_of_memory(command):
    """The advice is one that the verb can take."""
    def under_limit(*args):
        limit = 900 << 20
        return command.run(*args, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    if under_limit("doctor").returncode != 0:
        return "skipped: this build does not start in little memory"
    result = under_limit("run", "model:unet,image=1024,channels=64", "--threads", "1", "--random-inputs", "1",
                         "--policy", "nchw")
    if result.returncode == 5:
        return "skipped: " + result.stderr.strip()
    expect((result.returncode, result.stderr), (4, "relayout: out of memory\n"), "run")
    sparse_npy(command.path("big.npy"), (1 << 20, 64))
    with open(command.path("big.npy"), "rb") as file:
        result = subprocess.run("cat | %s compare - big.npy" % command.binary, shell=True, stdin=file, text=True,
                                cwd=command.directory, env=command.env, capture_output=True,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20)))
    advice = "relayout: out of memory; with --max-memory the work is done in parts\n"
    expect((result.returncode, result.stderr), (4, advice), "compare")


def terminal(command):
    """Colour on a terminal, none with NO_COLOR, none in a pipe."""
    def on_terminal(more_env):
        parent, child = pty.openpty()
        process = subprocess.Popen([command.binary, "describe", "nchw", "--dims", "1,2,3,4"], stdout=child,
                                   env=dict(command.env, **more_env))
        process.wait(timeout=HUNG)
        os.close(child)
        out = b""
        try:
            while chunk := os.read(parent, 4096):
                out += chunk
        except OSError:
            pass  # on Linux, reading fails like this once the other end is closed
        os.close(parent)
        return out
    assert b"\x1b[" in on_terminal({}), "no colour on a terminal"
    assert b"\x1b[" not in on_terminal({"NO_COLOR": "1"}), "colour in spite of NO_COLOR"
    assert "\x1b[" not in command.ok("describe", "nchw", "--dims", "1,2,3,4"), "colour in a pipe"


def doctor(command):
    about = json.loads(command.ok("doctor", "--json"))
    for field in ("version", "compiler", "isa", "available_isas", "cores", "threads", "caches", "libraries"):
        assert field in about, field
    assert about["isa"] in about["available_isas"], about["isa"]
    text = command.ok("doctor")
    for word in ("ISA", "threads", "caches", "CLI11"):
        assert word in text, word
    forced = json.loads(command.ok("doctor", "--json", more_env={"RELAYOUT_ISA": "scalar"}))
    expect(forced["isa"], "scalar", "RELAYOUT_ISA=scalar")
    bogus = {"RELAYOUT_ISA": "bogus"}
    assert 'does not run "bogus"' in command.ok("doctor", more_env=bogus)
    tensors.write_npy(command.path("x.npy"), (2, 3))
    for args in (("convert", "x.npy", "y.npy", "--to", "ba"), ("compare", "x.npy", "x.npy")):
        result = command.run(*args, "--json", more_env=bogus)
        expect(result.returncode, 5, "%s with a bogus RELAYOUT_ISA" % args[0])
        expect(json.loads(result.stderr)["error"]["value"], "bogus", args[0])
    expect(command.files(), ["x.npy"], "files")


def json_everywhere(command):
    tensors.write_npy(command.path("x.npy"), (2, 3))
    for args in (("describe", "ab", "--dims", "2,3"), ("offset", "ab", "--dims", "2,3", "--index", "1,1"),
                 ("index", "ab", "--dims", "2,3", "--offset", "1"), ("tags",), ("doctor",),
                 ("convert", "x.npy", "y.npy", "--to", "ba"), ("compare", "x.npy", "x.npy"),
                 ("bench", "--src", "ab", "--dst", "ba", "--dims", "8,8")):
        json.loads(command.ok(*args, "--json"))
    for code, args in ((2, ("describe", "nhcw", "--dims", "1,2,3,4")), (2, ("describe",)), (2, ("bogus",)),
                       (4, ("compare", "x.npy", "missing.npy")),
                       (3, ("convert", "x.npy", "z.npy", "--from", "abc", "--to", "abc"))):
        result = command.run(*args, "--json")
        expect(result.returncode, code, "%s" % (args,))
        error = json.loads(result.stderr)["error"]
        expect(sorted(error), ["code", "field", "limit", "message", "value"], "%s" % (args,))
        expect(result.stdout, "", "%s" % (args,))


ALL = [closed_pipe, full_device, closed_standard_output, out_of_memory, terminal, doctor,
       json_everywhere]
