"""What users test with: `TestCase`, gradient checks, and contract suites for implementations of our interfaces."""
