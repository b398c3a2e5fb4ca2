// Numbered tasks on XLA's own threads.
#pragma once

#include "pool_workers.h"
#include "xla/ffi/api/ffi.h"

namespace penstock {

using PoolWorkers = WorkersOf<xla::ffi::ThreadPool>;

}  // namespace penstock
