"""The examples of the documents run: each ```python block and each >>> example.

Blocks of one page run one after the other in one namespace and in an empty folder, as a reader would type them. A block
that opens with "# not run" is shown only, and one that needs a package that is missing is skipped.
"""
import doctest
import os
import re

import pytest

ROOT = os.path.join(os.path.dirname(__file__), "../..")
PAGES = ["README.md", "docs/tutorial.md", "docs/python.md", "docs/python-testing.md", "docs/large-arrays.md",
         "docs/placements.md", "python/README.md"]
MODULES = ["relayout", "relayout._arrays", "relayout._convert", "relayout._dtypes", "relayout._errors",
           "relayout._files",
           "relayout._layout", "relayout._model", "relayout._placement", "relayout._rearrange", "relayout.opencl"]
BLOCK = re.compile(r"^```(?:python|py|pycon)[^\n]*\n(.*?)^```(?:\n+```text\n(\S*Error: [^\n]*))?",
                   re.MULTILINE | re.DOTALL)


def blocks_of(page):
    """(line, text, error) of each block of Python; the error is the first line of the output below it, if it is one."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        text = file.read()
    return [(text.count("\n", 0, match.start(1)) + 1, match[1], match[2]) for match in BLOCK.finditer(text)]


def run_block(page, line, text, names):
    if ">>>" in text:
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        test = doctest.DocTestParser().get_doctest(text, names, page, page, line)
        runner = doctest.DocTestRunner(optionflags=flags)
        found = []
        runner.run(test, out=found.append, clear_globs=False)
        names.update(test.globs)
        assert not runner.failures, "".join(found)
    else:
        exec(compile("\n" * line + text, page, "exec"), names)


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_python(page, tmp_path, monkeypatch):
    if not os.path.exists(os.path.join(ROOT, page)):
        pytest.skip(f"{page} is not there")
    blocks = blocks_of(page)
    if not blocks:
        pytest.skip(f"{page} has no Python")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    missing = None
    for line, text, error in blocks:
        if text.startswith("# not run"):
            continue
        if error is not None:
            with pytest.raises(Exception) as raised:
                run_block(page, line, text, names)
            assert error == f"{raised.type.__module__}.{raised.type.__qualname__}: {str(raised.value).splitlines()[0]}"
            continue
        try:
            run_block(page, line, text, names)
        except ModuleNotFoundError as error:
            if error.name == "relayout" or error.name.startswith("relayout."):
                raise
            missing = error
        except (NameError, AssertionError):
            if missing is None:  # else what an earlier block would have made
                raise
    if missing is not None:
        pytest.skip(f"a part: {missing}")


@pytest.mark.parametrize("name", MODULES)
def test_doctests_of_modules(name):
    import importlib
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_the_page_of_the_package():
    """What help(relayout) says runs as it stands."""
    import textwrap
    import relayout
    pytest.importorskip("ml_dtypes")  # it converts to bf16
    example = relayout.__doc__.split("\n\n")[1]
    exec(textwrap.dedent(example), {})


def test_everything_public_has_words():
    import relayout
    for name in relayout.__all__:
        thing = getattr(relayout, name)
        if callable(thing) and name not in ("clear_plan_cache",):
            assert thing.__doc__, name
    assert len(set(relayout.__all__)) == len(relayout.__all__)
