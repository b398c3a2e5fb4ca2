// The few functions of Python's stable interface that strings.cc uses. They are found in the process that
// loads the library, so it needs no headers of Python's and one build serves every version.
#pragma once

#include <cstddef>

struct _object;
using PyObject = _object;

extern "C" {
int PyBytes_AsStringAndSize(PyObject *text, char **begin, std::ptrdiff_t *size);
PyObject *PyBytes_FromStringAndSize(const char *begin, std::ptrdiff_t size);
void Py_DecRef(PyObject *object);
}
