"""Kernels for one kind of device each, beside those that the operations' own files hold."""
