// The class that lets Python 3.11 read tensors through the buffer protocol, as `__buffer__` does from
// 3.12 on. What it promises is in penstock/core/native_buffers.py.

#include "python.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Fills `view` with what the object's `__buffer__` method gives; that exports it from here on.
int GetBuffer(PyObject *self, Py_buffer *view, int flags) {
  PyObject *given = PyObject_CallMethod(self, "__buffer__", "i", flags);
  const int result = given == nullptr ? -1 : PyObject_GetBuffer(given, view, flags);
  if (given != nullptr) Py_DecRef(given);
  if (result != 0) view->obj = nullptr;
  return result;
}

}  // namespace

EXPORT int penstock_buffers_version() { return 1; }

// A new class without fields, to inherit from; null with Python's exception set when it fails.
EXPORT PyObject *penstock_buffers_exporter() {
  static PyType_Slot slots[] = {{kGetBufferSlot, reinterpret_cast<void *>(GetBuffer)}, {0, nullptr}};
  static PyType_Spec spec = {"penstock.core.native_buffers.Exporter", 0, 0, kBaseType, slots};
  return PyType_FromSpec(&spec);
}
