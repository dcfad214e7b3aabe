// Work in threads, and memory for it.
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace adaptag {

// Calls f(0) … f(n − 1) at the same time, f(0) in this thread, and waits for all. Where the system
// gives no thread, this one does the work. Passes on the first of what they threw.
template <class F>
void in_parallel(int n, F&& f) {
  std::vector<std::exception_ptr> thrown(n);
  const auto call = [&](int k) {
    try {
      f(k);
    } catch (...) {
      thrown[k] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(n);
  for (int k = 1; k < n; ++k) {
    try {
      threads.emplace_back(call, k);
    } catch (const std::system_error&) {
      call(k);
    }
  }
  call(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : thrown)
    if (one) std::rethrow_exception(one);
}

struct Free {
  void operator()(double* p) const { std::free(p); }
};
using Array = std::unique_ptr<double[], Free>;

// Zeros, in large pages where the system has them: three times as fast to get, and to jump about
// in.
inline Array zeros(size_t n) {
  constexpr size_t page = size_t{1} << 21;
  const size_t bytes = (n * sizeof(double) / page + 1) * page;
  Array out(static_cast<double*>(std::aligned_alloc(page, bytes)));
  if (!out) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  madvise(out.get(), bytes, MADV_HUGEPAGE);
#endif
  std::memset(out.get(), 0, n * sizeof(double));
  return out;
}

}  // namespace adaptag
