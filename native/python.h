// The few functions and types of Python's stable interface (3.11) that buffers.cc and strings.cc use.
// They are found in the process that loads the library, so it needs no headers of Python's and one
// build serves every version.
#pragma once

#include <cstddef>

struct _object;
using PyObject = _object;

struct Py_buffer {  // its first fields
  void *buf;
  PyObject *obj;
};

struct PyType_Slot {
  int slot;
  void *function;
};

struct PyType_Spec {
  const char *name;
  int basicsize;  // 0: that of the base class
  int itemsize;
  unsigned int flags;
  PyType_Slot *slots;  // the last one is 0
};

constexpr int kGetBufferSlot = 1;              // Py_bf_getbuffer
constexpr unsigned int kBaseType = 1u << 10;  // Py_TPFLAGS_BASETYPE

extern "C" {
int PyBytes_AsStringAndSize(PyObject *text, char **begin, std::ptrdiff_t *size);
PyObject *PyBytes_FromStringAndSize(const char *begin, std::ptrdiff_t size);
PyObject *PyObject_CallMethod(PyObject *object, const char *name, const char *format, ...);
int PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
PyObject *PyType_FromSpec(PyType_Spec *spec);
void Py_DecRef(PyObject *object);
}
