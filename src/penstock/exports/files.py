"""Public names of files and folders."""

_FUNCTIONS = (
    "copy exists get_registered_schemes glob isdir join listdir makedirs mkdir remove rename rmtree"
    " stat walk"
).split()
_V1 = {
    "copy": "Copy",
    "delete_recursively": "DeleteRecursively",
    "exists": "Exists",
    "glob": "Glob",
    "is_directory": "IsDirectory",
    "list_directory": "ListDirectory",
    "make_dirs": "MakeDirs",
    "mk_dir": "MkDir",
    "remove": "Remove",
    "rename": "Rename",
    "stat": "Stat",
    "walk": "Walk",
}

EXPORTS = {
    "penstock.util.resource_files": {
        name: [f"compat.v1.resource_loader.{name}"]
        for name in (
            "get_data_files_path",
            "get_path_to_datafile",
            "get_root_dir_with_all_resources",
            "load_resource",
            "readahead_file_path",
        )
    },
    "penstock.core.files": {name: [f"io.gfile.{name}"] for name in _FUNCTIONS},
    "penstock.core.files_v1": {name: [f"compat.v1.gfile.{old}"] for name, old in _V1.items()},
    "penstock.core.file_object": {
        "GFile": ["io.gfile.GFile", "compat.v1.gfile.GFile", "compat.v1.gfile.Open"],
        "FastGFile": ["compat.v1.gfile.FastGFile"],
    },
    "penstock.ops.io_files": {
        "matching_files": ["io.matching_files", "compat.v1.matching_files"],
        "read_file": ["io.read_file", "compat.v1.read_file"],
        "write_file": ["io.write_file", "compat.v1.write_file"],
    },
}
