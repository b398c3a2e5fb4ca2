// The few functions and types of Python's stable interface (3.11) that buffers.cc, calls.cc and
// strings.cc use. They are found in the process that loads the library, so it needs no headers of
// Python's and one build serves every version.
#pragma once

#include <cstddef>

struct _object {  // its fields are Python's own
};
using PyObject = _object;

struct Py_buffer {
  void *buf;
  PyObject *obj;
  std::ptrdiff_t len, itemsize;
  int readonly, ndim;
  char *format;
  std::ptrdiff_t *shape, *strides, *suboffsets;
  void *internal;
};

struct PyMethodDef {
  const char *name;
  void *function;
  int flags;
  const char *doc;
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
constexpr int kFastCall = 0x80;               // METH_FASTCALL

struct PyThreadState;

extern "C" {
int PyBytes_AsStringAndSize(PyObject *text, char **begin, std::ptrdiff_t *size);
PyObject *PyBytes_FromStringAndSize(const char *begin, std::ptrdiff_t size);
PyObject *PyObject_CallMethod(PyObject *object, const char *name, const char *format, ...);
int PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
int PyObject_CheckBuffer(PyObject *object);
void PyBuffer_Release(Py_buffer *view);
long long PyLong_AsLongLong(PyObject *number);
unsigned long long PyLong_AsUnsignedLongLongMask(PyObject *number);
void *PyLong_AsVoidPtr(PyObject *number);
PyObject *PyLong_FromLongLong(long long number);
PyObject *PyErr_NoMemory();
PyObject *PyErr_Occurred();
void PyErr_SetString(PyObject *kind, const char *text);
PyThreadState *PyEval_SaveThread();
void PyEval_RestoreThread(PyThreadState *state);
PyObject *PyCapsule_New(void *pointer, const char *name, void (*destructor)(PyObject *));
void *PyCapsule_GetPointer(PyObject *capsule, const char *name);
PyObject *PyCFunction_NewEx(PyMethodDef *method, PyObject *self, PyObject *module);
PyObject *PyType_FromSpec(PyType_Spec *spec);
void Py_DecRef(PyObject *object);
extern PyObject _Py_NoneStruct;
extern PyObject *PyExc_TypeError;
}
