"""What the comparisons beside this file share: random numbers, the program that answers, a report of what differs."""
import os
import random
import subprocess
import sys

SEED = int(os.environ.get("RELAYOUT_SEED", "27"))
SLOW = os.environ.get("RELAYOUT_SLOW_TESTS", "0") not in ("", "0")
CASES = int(os.environ.get("RELAYOUT_CASES", "50000" if SLOW else "3000"))


def skip_without(module, package):
    """The module, or the end of the test with the reason why it is skipped."""
    try:
        return __import__(module)
    except ImportError as error:
        print("skipped: layouts are compared with %s's, and %s has none (Debian: %s): %s" %
              (module, sys.executable, package, error))
        sys.exit(77)


def commas(numbers):
    return ",".join(str(int(n)) for n in numbers)


def numbers(text):
    return [int(part) for part in text.split(",")] if text else []


def ask(program, questions):
    """The answers to questions, each of them a list of words."""
    lines = "".join("\t".join(map(str, words)) + "\n" for words in questions)
    done = subprocess.run([program], input=lines, capture_output=True, text=True)
    answers = [line.split("\t") for line in done.stdout.split("\n")[:-1]]
    if done.returncode != 0 or len(answers) != len(questions):
        print("FAILED: %s ended with %d after %d of %d lines\n%s" %
              (program, done.returncode, len(answers), len(questions), done.stderr[-2000:]))
        sys.exit(1)
    return answers


class Report:
    """Counts what agrees, what differs, and what differs with a reason."""

    def __init__(self, part):
        self.part, self.counts, self.reasons, self.failures = part, {}, {}, 0

    def agree(self, kind):
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def deliberate(self, reason):
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def differ(self, what):
        self.failures += 1
        if self.failures <= 10:
            print("FAILED: %s: %s" % (self.part, what))

    def end(self, least=0):
        """Prints the counts. Each kind must occur so often, or the comparison says nothing."""
        print("%s, %d cases, seed %d: %s; %d differ" %
              (self.part, sum(self.counts.values()) + self.failures, SEED,
               ", ".join("%d %s" % (n, kind) for kind, n in sorted(self.counts.items())), self.failures))
        for reason, count in self.reasons.items():
            print("  %d deliberate differences: %s" % (count, reason))
        rare = [kind for kind, n in self.counts.items() if n < least]
        if rare:
            print("FAILED: %s: too few of %s" % (self.part, ", ".join(rare)))
        return 1 if self.failures or rare else 0


def random_sizes(rng, rank, most):
    """Extents of which 0 and 1 are common."""
    while True:
        sizes = [rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 6)) if rng.random() < 0.5 else rng.choice((1, 2, 3, 4))
                 for _ in range(rank)]
        count = 1
        for n in sizes:
            count *= max(n, 1)
        if count <= most:
            return sizes


def random_strides(rng, sizes):
    """Dense strides in some order, with gaps, repeated dims, and any strides of extents 0 and 1 among them."""
    order = list(range(len(sizes)))
    kind = rng.random()
    if kind < 0.3 and len(sizes) >= 4:
        order = [0] + list(range(2, len(sizes))) + [1]
    elif kind < 0.7:
        rng.shuffle(order)
    strides, step = [0] * len(sizes), 1
    gaps = rng.random() < 0.3
    for d in reversed(order):
        strides[d] = step
        step *= max(sizes[d], 1) + (rng.randint(0, 2) if gaps and rng.random() < 0.4 else 0)
    for d, n in enumerate(sizes):
        if n <= 1 and rng.random() < 0.3:
            strides[d] = rng.choice((0, 1, 2, 5, 60, 7))
        elif rng.random() < 0.04:
            strides[d] = rng.choice((0, 0, 1, 2, 3))
    return strides


def reach(sizes, strides):
    """Elements from the first to the last one."""
    return 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides))


def generator(part):
    return random.Random("%d %s" % (SEED, part))
