"""What users test with: `TestCase`, gradient checks, and contract suites for our interfaces."""
