#!/usr/bin/env bash
# The check before a commit, under ten seconds with warm caches: style, format, types and the smoke tests, all from
# .venv, so the versions are those of constraints.txt and nothing is fetched.
# Install it once: ln -s ../../tools/pre_commit.sh .git/hooks/pre-commit
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"

if [ ! -e .venv/.stamp-dev ]; then
    echo "pre-commit: .venv lacks the development tools. Run 'make test' once." >&2
    exit 1
fi
.venv/bin/ruff check --quiet .
.venv/bin/ruff format --check --quiet .
.venv/bin/mypy
.venv/bin/python -m pytest -q -x tests/smoke tests/architecture -m "not slow"
