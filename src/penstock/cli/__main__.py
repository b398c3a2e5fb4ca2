"""`python -m penstock.cli`: the command where the console script is not on the path."""

from penstock.cli.main import main

main(prog_name="penstock")
