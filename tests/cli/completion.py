"""relayout completion: scripts that make shells complete the command, each asked in its own shell where there is one.

relayout help --json lists what there is to complete."""
import json
import shutil
import subprocess

from shared import expect

# Prints what bash completes the line $1 to, a word a line. The script is sourced from standard input.
ASK = """
source /dev/stdin || exit 9
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=$2
_relayout
printf '%s\\n' "${COMPREPLY[@]}"
"""
BREAKS = " \t\n\"'><=;|&(:"


def asker(command):
    """A function that says what bash completes a line to; nothing where it completes names of files."""
    script = command.ok("completion", "bash")

    def ask(line, breaks=BREAKS):
        result = subprocess.run(["bash", "--norc", "-c", ASK, "bash", line, breaks], input=script, capture_output=True,
                                text=True, cwd=command.directory, env=command.env, timeout=600)
        assert result.returncode == 0 and not result.stderr, "%s: %s" % (line, result.stderr)
        return result.stdout.split()
    return ask


def bash_answers(command):
    """What bash offers for lines that people type."""
    if not shutil.which("bash"):
        return "skipped: no bash"
    ask = asker(command)
    expect(ask("relayout con"), ["convert"], "a verb")
    expect(ask("relayout --v"), ["--version"], "a flag of the command")
    expect(ask("relayout convert a.npy b.npy --to-d"), ["--to-dims", "--to-dtype"], "flags of a verb")
    expect(ask("relayout convert a.npy b.npy --to-dtype b"), ["bf16", "bool"], "types")
    expect(ask("relayout convert a.npy b.npy --to-dtype=b"), ["bf16", "bool"], "types after =")
    expect(ask("relayout convert --dtype=b", BREAKS.replace("=", "")), ["--dtype=bf16", "--dtype=bool"],
           "types after = that breaks no word")
    expect(ask("relayout describe nChw"), ["nChw8c", "nChw16c"], "layouts as operand")
    expect(ask("relayout describe cudnn:NC/4"), ["NC/4HW4"], "a name with a colon, behind it")
    expect(ask("relayout describe cudnn:NC/4", BREAKS.replace(":", "")), ["cudnn:NC/4HW4"],
           "a colon that breaks no word")
    expect(ask("relayout convert a.npy b.npy --via "), ["cpu", "opencl"], "the values of a flag")
    expect(ask("relayout bench --src nchw --dst nhw"), ["nhwc"], "layouts of bench")
    expect(ask("relayout diff nchw nhw"), ["nhwc"], "the second operand")
    expect(ask("relayout help comp"), ["compare", "completion"], "verbs as operand")
    expect(ask("relayout completion "), ["bash", "zsh", "fish"], "shells")
    expect(ask("relayout checkpoint l"), ["list"], "the second word of a verb")
    expect(ask("relayout checkpoint list --j"), ["--json"], "a flag of a verb of two words")
    for line in ("relayout convert ", "relayout convert a.n", "relayout convert -f a", "relayout plan net",
                 "relayout compare --threads 2 a.npy ", "relayout run --plan ", "relayout checkpoint list "):
        expect(ask(line), [], line + ": files")


def bash_knows_everything(command):
    """Every verb, flag and known value of the command is offered where it belongs."""
    if not shutil.which("bash"):
        return "skipped: no bash"
    ask = asker(command)
    whole, *verbs = json.loads(command.ok("help", "--json"))
    names = {verb["name"].split()[0] for verb in verbs}
    expect(set(ask("relayout ")), names | {n for o in whole["options"] for n in o["names"]}, "verbs")
    for verb in verbs:
        start = "relayout %s " % verb["name"]
        flags = [o for o in verb["options"] if o["names"][0].startswith("-")]
        expect(ask(start + "-"), [n for o in flags for n in o["names"]], "the flags of " + verb["name"])
        for option in flags:
            flag = option["names"][-1]
            if option["values"]:
                expect(ask(start + flag + "="), option["values"], start + flag)
            if option["value"] and flag.endswith("dtype"):
                assert "u8" in ask(start + flag + " "), flag
            if option["value"] and flag.endswith("layout"):
                assert "nhwc" in ask(start + flag + " "), flag


def scripts_parse(command):
    """Each shell that is installed takes its script without a word."""
    checked = []
    for shell, check in (("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])):
        script = command.ok("completion", shell)
        assert "convert" in script and "--to-dtype" in script or "to-dtype" in script, shell
        if not shutil.which(shell):
            continue
        file = command.directory / ("completion." + shell)
        file.write_text(script)
        result = subprocess.run([shell, *check, str(file)], capture_output=True, text=True, env=command.env,
                                timeout=600)
        assert (result.returncode, result.stderr) == (0, ""), "%s: %s" % (shell, result.stderr)
        checked.append(shell)
    if not checked:
        return "skipped: no shell"


def manual(command):
    """The manual page has every verb and flag, and troff takes it without a warning."""
    page = command.ok("help", "--man")
    for verb in json.loads(command.ok("help", "--json"))[1:]:
        assert ".SS \\fBrelayout %s\\fR" % verb["name"] in page, verb["name"]
        for option in verb["options"]:
            assert option["names"][-1].replace("-", "\\-") in page, option["names"]
    if not shutil.which("groff"):
        return "skipped: no groff"
    result = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-z"], input=page, capture_output=True, text=True,
                            timeout=600)
    assert result.returncode == 0 and not result.stderr, result.stderr


def helps(command):
    """help says what --help does, for each verb."""
    expect(command.ok("help"), command.ok("--help"), "help")
    for verb in json.loads(command.ok("help", "--json"))[1:]:
        words = verb["name"].split()
        expect(command.ok("help", *words), command.ok(*words, "--help"), verb["name"])


ALL = (bash_answers, bash_knows_everything, scripts_parse, manual, helps)
