"""The reference of Python: a page for each public module, from its sources; nothing is imported.

Functions that are written in C++ have their signatures in stubs (.pyi), which are made when the package is built.
"""
import ast
import html
import re

from markdown import Markdown, Section, code_block
from page import Page

MODULES = {
    "relayout": "relayout/__init__.py", "relayout.checkpoint": "relayout/checkpoint.py",
    "relayout.opencl": "relayout/opencl.py", "relayout.testing": "relayout/testing/__init__.py",
    "relayout.testing.strategies": "relayout/testing/strategies.py",
    "relayout.testing.pytest_plugin": "relayout/testing/pytest_plugin.py",
}
INTEROP = "relayout.interop"
WIDTH = 92
DUNDERS = {"__init__", "__call__", "__getitem__", "__len__", "__iter__", "__enter__", "__array__", "__dlpack__"}


class Sources:
    """The package's modules as trees of syntax, by their paths below python/; the stubs stand for _native."""

    def __init__(self, root, stubs):
        self.root, self.stubs, self.trees = root / "python", stubs, {}

    def tree(self, path):
        if path not in self.trees:
            there = path is not None and path.exists()
            self.trees[path] = ast.parse(path.read_text(encoding="utf-8")) if there else None
        return self.trees[path]

    def path(self, module):
        """The file of a module such as ("relayout", "_convert"), or None where it is only in the stubs that lack."""
        if module[:2] == ("relayout", "_native"):
            rest = module[2:]
            return self.stubs / "_native" / f"{rest[0] if rest else '__init__'}.pyi" if self.stubs else None
        base = self.root.joinpath(*module)
        return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")

    def find(self, module, name, depth=0):
        """The definitions of a name in a module; [] where no source says it. Of an overloaded function it is the one
        with a body, which says all that the overloads do, or all overloads where a stub has only these."""
        tree = self.tree(self.path(module))
        if tree is None or depth > 8:
            return []
        statements = list(statements_of(tree))
        found = [node for node in statements if defines(node, name)]
        if found:
            return found if is_overload(found[-1]) else found[-1:]
        for node in statements:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        base = module if self.path(module).name == "__init__.py" else module[:-1]
                        base = base[:len(base) - (node.level - 1)] if node.level else ()
                        target = (*base, *(node.module.split(".") if node.module else ()))
                        return self.find(target, alias.name, depth + 1)
        homes = next((node.value for node in statements if isinstance(node, ast.Assign)
                      and getattr(node.targets[0], "id", "") == "_HOMES"), None)
        if homes is not None and name in ast.literal_eval(homes):
            return self.find((*module, ast.literal_eval(homes)[name]), name, depth + 1)
        return []


def statements_of(tree):
    """The statements of a module, those under an if or a try too."""
    for node in tree.body:
        yield node
        for part in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(node, (ast.If, ast.Try)):
                for inner in getattr(node, part, []):
                    yield from [inner] if not isinstance(inner, ast.ExceptHandler) else inner.body


def defines(node, name):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name == name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(getattr(target, "id", None) == name for target in targets)


def is_overload(node):
    return isinstance(node, ast.FunctionDef) and any("overload" in ast.dump(one) for one in node.decorator_list)


def public_names(tree):
    """What __all__ lists; of a module without it, its public functions and classes."""
    for node in statements_of(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            and not node.name.startswith("_")]


def signature(node, name):
    """name(arguments) -> result, over several lines where it is long."""
    given = ast.unparse(node.args)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if len(name) + len(given) + len(result) + 2 <= WIDTH:
        return f"{name}({given}){result}"
    empty = ast.parse("def f(): pass").body[0]
    empty.args = node.args
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(given):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(given[start:i].strip())
            start = i + 1
    parts.append(given[start:].strip())
    lines = [""]
    for i, part in enumerate(parts):
        part += "," if i + 1 < len(parts) else ""
        if len(lines[-1]) + len(part) > WIDTH - 8 and lines[-1]:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + part
    indent = "\n    "
    return f"{name}({indent}{indent.join(lines)}){result}"


class Writer:
    def __init__(self):
        self.sections = []
        self.markdown = Markdown(lambda path, anchor: None, lambda source, words: "")

    def text(self, docstring):
        """A docstring as HTML: prose with indented blocks; an example's prompt makes it a block too."""
        cleaned = re.sub(r"^((?:>>>|\.\.\.).*)$", r"    \1", docstring or "", flags=re.MULTILINE)
        return self.markdown.html_of(self.markdown.parser.parse(cleaned))

    def section(self, level, title, anchor, words):
        section = Section(level, title, anchor)
        section.words.append(words)
        self.sections.append(section)

    def entry(self, module, name, nodes):
        """A public name of a module: what it is and what its docstring says."""
        anchor, full = name, f"{module}.{name}"
        out = [f'<h2 id="{html.escape(anchor)}"><code>{html.escape(name)}</code></h2>\n']
        documentable = [node for node in nodes if not isinstance(node, (ast.Assign, ast.AnnAssign))]
        documented = next(filter(None, map(ast.get_docstring, documentable)), "")
        self.section(2, name, anchor, documented)
        if not nodes:
            out.append(code_block(full, "python"))
            out.append("<p>It is written in C++; its signature is here when the site is built after the package.</p>\n")
        elif isinstance(nodes[0], ast.ClassDef):
            out += self.class_entry(nodes[0], full, documented)
        elif isinstance(nodes[0], (ast.Assign, ast.AnnAssign)):
            out.append(code_block(ast.unparse(nodes[0]), "python"))
        else:
            out.append(code_block("\n".join(signature(node, full) for node in nodes), "python"))
            out.append(self.text(documented))
        return "".join(out)

    def class_entry(self, node, full, documented):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        yield code_block(f"class {full}({bases})" if bases else f"class {full}", "python")
        yield self.text(documented)
        members, fields = {}, []
        for member in node.body:
            if isinstance(member, ast.FunctionDef):
                if not member.name.startswith("_") or member.name in DUNDERS:
                    members.setdefault(member.name, []).append(member)
            elif isinstance(member, (ast.AnnAssign, ast.Assign)):
                target = member.target if isinstance(member, ast.AnnAssign) else member.targets[0]
                if isinstance(target, ast.Name) and not target.id.startswith("_"):
                    fields.append((target.id, ast.unparse(member)))
        if fields:
            spans = "".join(f'<span id="{node.name}.{name}"></span>{html.escape(text)}\n' for name, text in fields)
            yield f'<pre tabindex="0"><code>{spans}</code></pre>\n'
        for name, functions in members.items():
            yield self.member(node.name, name, functions)

    def member(self, of, name, functions):
        anchor = f"{of}.{name}"
        decorators = {ast.unparse(one) for one in functions[0].decorator_list}
        overloads = functions if is_overload(functions[-1]) else functions[-1:]
        if "property" in decorators:  # its setter has the same name
            overloads = functions[:1]
        documented = next((ast.get_docstring(one) for one in functions if ast.get_docstring(one)), "")
        self.section(3, anchor, anchor, documented)
        if "property" in decorators:
            result = overloads[0].returns
            code = f"{name}: {ast.unparse(result)}" if result else name
        else:
            shown = of if name == "__init__" else name
            code = "\n".join(signature(without_self(one), shown) for one in overloads)
        return (f'<div class="entry" id="{html.escape(anchor)}">{code_block(code, "python")}'
                f"{self.text(documented)}</div>\n")


def without_self(function):
    copy = ast.parse(ast.unparse(function)).body[0]
    static = any(ast.unparse(one) == "staticmethod" for one in function.decorator_list)
    if not static:
        (copy.args.posonlyargs or copy.args.args or [None]).pop(0)
    return copy


def module_page(sources, module, path):
    tree = sources.tree(path)
    writer = Writer()
    docstring = ast.get_docstring(tree) or ""
    names = sorted((name for name in public_names(tree) if name != "interop"), key=str.lower)
    writer.section(1, module, "", docstring)
    body = [f"<h1><code>{module}</code></h1>\n", writer.text(docstring)]
    body += [writer.entry(module, name, sources.find(tuple(module.split(".")), name)) for name in names]
    return Page(address_of(module), module, "Python", "".join(body), writer.sections)


def interop_page(sources):
    """relayout.interop, which is written in C++ alone."""
    path = sources.stubs / "_native/interop.pyi" if sources.stubs else None
    tree = sources.tree(path)
    if tree is None:
        writer = Writer()
        writer.section(1, INTEROP, "", "")
        body = (f"<h1><code>{INTEROP}</code></h1>\n<p>It is written in C++; its functions are here when the site is "
                'built after the package. <a href="../python.html">Python</a> says what it is for.</p>\n')
        return Page(address_of(INTEROP), INTEROP, "Python", body, writer.sections)
    sources.trees[path] = tree
    writer = Writer()
    writer.section(1, INTEROP, "", ast.get_docstring(tree) or "")
    body = [f"<h1><code>{INTEROP}</code></h1>\n", writer.text(ast.get_docstring(tree))]
    body += [writer.entry(INTEROP, name, sources.find(("relayout", "_native", "interop"), name))
             for name in sorted(public_names(tree))]
    return Page(address_of(INTEROP), INTEROP, "Python", "".join(body), writer.sections)


def first_sentence(page):
    """Of a module's docstring, without the name that it may begin with."""
    said = " ".join(" ".join(page.sections[0].words).split()).split(". ")[0].split(":")
    return (said[1] if len(said) > 1 and len(said[0]) < 20 else said[0]).strip().rstrip(".") + "."


def address_of(module):
    return f"python-api/{module}.html"


def pages(root, stubs):
    sources = Sources(root, stubs)
    made = [module_page(sources, module, sources.root / path) for module, path in MODULES.items()]
    made.insert(1, interop_page(sources))
    rows = "".join(f'<dt><a href="{page.title}.html"><code>{page.title}</code></a></dt>\n'
                   f"<dd>{html.escape(first_sentence(page))}</dd>\n" for page in made)
    body = ("<h1>Python</h1>\n<p>The public names of the package, with their signatures and what their docstrings say. "
            f'<a href="../python.html">Python</a> shows how they are used.</p>\n<dl>\n{rows}</dl>\n')
    title = "Python: all names"
    return [Page("python-api/index.html", title, "Python", body, [Section(1, title, "")]), *made]
