"""The public names, family by family: for each module its attributes and the dotted names they have under the package."""
