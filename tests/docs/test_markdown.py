"""The pages: links lead somewhere, and the README's examples do what they say."""

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


def readme_code():
    """The README's Python as one program, each line where it stands, so that errors point there."""
    text = (ROOT / "README.md").read_text()
    lines = [""] * (text.count("\n") + 1)
    for block in CODE_BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines)


def test_the_readme_has_examples_with_results():
    assert len(PRINTED.findall(readme_code())) >= 4


def test_the_readme_examples_print_what_they_say(capsys):
    exec(compile(readme_code(), "README.md", "exec", dont_inherit=True), {"__name__": "readme"})
    printed = capsys.readouterr().out.splitlines()
    assert printed == PRINTED.findall(readme_code())
