"""The pages: links lead somewhere, and their examples do what they say."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
CODE_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    targets = LINK.findall(FENCED.sub("", page.read_text()))
    local = [target for target in targets if not re.match(r"\w+:", target)]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text()
    linked = {(ROOT / "docs" / target).resolve() for target in LINK.findall(index)}
    assert set(ROOT.glob("docs/*.md")) - linked == {ROOT / "docs" / "index.md"}


def code_of(page):
    """A page's Python as one program, each line where it stands, so that errors point there."""
    text = page.read_text()
    lines = [""] * (text.count("\n") + 1)
    for block in CODE_BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines)


RUNNABLE = [page for page in PAGES if CODE_BLOCK.search(page.read_text())]


def test_there_are_pages_with_examples():
    assert {"README.md", "adding_an_operation.md", "from_scratch.md"} <= {p.name for p in RUNNABLE}


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_print_what_they_say(page, capsys):
    code = code_of(page)
    wanted = PRINTED.findall(code)
    assert len(wanted) >= 3
    exec(compile(code, str(page.relative_to(ROOT)), "exec", dont_inherit=True), {"__name__": "p"})
    assert capsys.readouterr().out.splitlines() == wanted


def test_an_operation_of_ones_own_takes_under_20_lines():
    (block,) = [code for code in CODE_BLOCK.findall((ROOT / "README.md").read_text())
                if "define_op" in code]  # fmt: skip
    definition = block[: block.index("\nx = ")]
    assert len([line for line in definition.splitlines() if line]) < 20
