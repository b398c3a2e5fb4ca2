// Functions of the other libraries as Python's own built-in ones, which cost a fraction of what
// ctypes takes for a call. What they promise is in penstock/core/native_library.py.

#include <cstdint>
#include <string>
#include <utility>

#include "python.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kMost = 16;  // arguments
constexpr const char *kName = "penstock.function";

// A function of integers and pointers, each of eight bytes.
struct Function {
  void *address;
  std::string letters;  // of the arguments: n, u or p, as in native_library.py
  bool keeps_lock;
};

template <std::size_t... I>
int64_t CallWith(void *address, const int64_t *given, std::index_sequence<I...>) {
  return reinterpret_cast<int64_t (*)(decltype(static_cast<void>(I), int64_t{})...)>(address)(
      given[I]...);
}

template <std::size_t... N>
int64_t CallWithSome(std::size_t count, void *address, const int64_t *given,
                     std::index_sequence<N...>) {
  int64_t result = 0;
  (void)((N == count ? (result = CallWith(address, given, std::make_index_sequence<N>{}), true)
                     : false) ||
         ...);
  return result;
}

// The arguments of a call, and the buffers that they hold while it runs.
class Arguments {
 public:
  ~Arguments() {
    for (int i = 0; i < held_; ++i) PyBuffer_Release(&buffers_[i]);
  }

  // Reads an argument of this letter; false with Python's exception set where it is none.
  bool Read(char letter, PyObject *object) {
    int64_t &value = values_[count_++];
    if (letter == 'p') return ReadPointer(object, value);
    value = letter == 'n' ? PyLong_AsLongLong(object)
                          : static_cast<int64_t>(PyLong_AsUnsignedLongLongMask(object));
    return value != -1 || PyErr_Occurred() == nullptr;
  }

  int64_t Call(void *address) const {
    return CallWithSome(static_cast<std::size_t>(count_), address, values_,
                        std::make_index_sequence<kMost + 1>{});
  }

 private:
  bool ReadPointer(PyObject *object, int64_t &value) {
    if (object == &_Py_NoneStruct) {
      value = 0;
      return true;
    }
    if (PyObject_CheckBuffer(object) == 0) {
      value = reinterpret_cast<int64_t>(PyLong_AsVoidPtr(object));
      return value != 0 || PyErr_Occurred() == nullptr;
    }
    if (PyObject_GetBuffer(object, &buffers_[held_], 0) != 0) return false;
    value = reinterpret_cast<int64_t>(buffers_[held_++].buf);
    return true;
  }

  int64_t values_[kMost];
  Py_buffer buffers_[kMost];
  int count_ = 0, held_ = 0;
};

PyObject *Call(PyObject *self, PyObject *const *given, std::ptrdiff_t count) {
  const auto &function = *static_cast<Function *>(PyCapsule_GetPointer(self, kName));
  if (count != static_cast<std::ptrdiff_t>(function.letters.size())) {
    PyErr_SetString(PyExc_TypeError, "a native function got another number of arguments");
    return nullptr;
  }
  Arguments arguments;
  for (std::ptrdiff_t i = 0; i < count; ++i)
    if (!arguments.Read(function.letters[static_cast<std::size_t>(i)], given[i])) return nullptr;
  int64_t result = 0;
  if (function.keeps_lock) {
    result = arguments.Call(function.address);
    if (PyErr_Occurred() != nullptr) return nullptr;
  } else {
    PyThreadState *state = PyEval_SaveThread();
    result = arguments.Call(function.address);
    PyEval_RestoreThread(state);
  }
  return PyLong_FromLongLong(result);
}

}  // namespace

EXPORT int penstock_calls_version() { return 1; }

// A built-in function that calls the one at `address`, whose arguments have these letters; it lives
// as long as the process. Null with Python's exception set when it fails.
EXPORT PyObject *penstock_calls_bind(void *address, const char *letters, int64_t keeps_lock) {
  static PyMethodDef method = {"native", reinterpret_cast<void *>(Call), kFastCall, nullptr};
  auto *function = new Function{address, letters, keeps_lock != 0};
  if (function->letters.size() > kMost) {
    PyErr_SetString(PyExc_TypeError, "a native function has too many arguments");
    delete function;
    return nullptr;
  }
  PyObject *capsule = PyCapsule_New(function, kName, nullptr);
  if (capsule == nullptr) {
    delete function;
    return nullptr;
  }
  PyObject *made = PyCFunction_NewEx(&method, capsule, nullptr);
  Py_DecRef(capsule);
  return made;
}
