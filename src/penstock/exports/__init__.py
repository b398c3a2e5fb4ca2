"""The public names, family by family: for each module its attributes and their dotted names."""
