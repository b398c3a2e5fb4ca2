"""What holds for the repository as a whole: no trace of one machine, pinned versions, tests."""

import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Written so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.$}>])/(?:work|root|home/\w+|Users/\w+)/")
REGISTRY = re.compile(
    r"https?://\S*(?:py[p]i|pythonhosted|/simp[l]e/|artifactory|nexus)|--(?:extra-)?index[-]url|--find[-]links"
)
# Tables only: the tests of the namespace go through them.
WITHOUT_TESTS = {"exports"}


def repository_files():
    """What is in the repository, or will be with the next commit."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: a source distribution has no list of its files")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def lines_matching(pattern):
    found = []
    for path in repository_files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # a binary file
        found += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
            for number, line in enumerate(text.splitlines(), 1)
            if pattern.search(line)
        ]
    return found


def test_no_path_of_one_machine():
    found = lines_matching(MACHINE_PATH)
    assert not found, "\n".join(found)


def test_no_registry_address():
    found = lines_matching(REGISTRY)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (MACHINE_PATH, "open('/ro" + "ot/x')", True),
        (MACHINE_PATH, "cd /wo" + "rk/main", True),
        (MACHINE_PATH, "/job:worker/replica:0", False),
        (MACHINE_PATH, "frame" + "work/main", False),
        (REGISTRY, "pip install --index-" + "url x", True),
        (REGISTRY, "https://files.python" + "hosted.org/x", True),
        (REGISTRY, "https://docs.jax.dev", False),
    ],
)
def test_the_patterns(pattern, text, matches):
    assert bool(pattern.search(text)) is matches


def pinned():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_are_exact_pins():
    wrong = [line for line in pinned() if not re.fullmatch(r"[\w.-]+==[\w.+!]+", line)]
    assert not wrong


def test_every_requirement_of_the_tests_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    texts = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(text for extra in ("demo", "tensorboard", "dev") for text in extras[extra]),
    ]
    names = {normal(re.match(r"[\w.-]+", text)[0]) for text in texts} - {"penstock"}
    assert names - {normal(line.split("==")[0]) for line in pinned()} == set()


def test_every_package_has_tests():
    packages = [
        path.name
        for path in (ROOT / "src" / "penstock").iterdir()
        if path.name not in WITHOUT_TESTS
        and any(file.name != "__init__.py" for file in path.glob("*.py"))
    ]
    assert "core" in packages
    assert [name for name in packages if not [*(ROOT / "tests" / name).rglob("test_*.py")]] == []


def test_every_package_of_tests_is_for_a_package():
    """A renamed package takes its tests along."""
    others = set("architecture benchmarks data docs examples golden native smoke tools".split())
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    packages = {path.name for path in (ROOT / "src" / "penstock").iterdir()}
    assert folders - packages - others == set()


def test_generated_message_code_is_current():
    result = subprocess.run(
        [sys.executable, "tools/generate_protos.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_ci_runs_the_command_of_the_readme():
    assert "\nmake test\n" in (ROOT / ".ci" / "run").read_text()
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)


def test_the_smoke_check_names_folders_that_exist():
    script = (ROOT / "tools" / "pre_commit.sh").read_text()
    folders = re.findall(r"tests/\w+", script)
    assert folders
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
