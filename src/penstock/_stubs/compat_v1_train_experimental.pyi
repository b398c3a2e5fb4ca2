# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.checkpoint.python_state import PythonState as PythonState
from penstock.checkpoint.safetensors_files import load_safetensors as load_safetensors
from penstock.checkpoint.safetensors_files import save_safetensors as save_safetensors
