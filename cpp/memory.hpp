// Memory for large arrays that are written before they are read.
#pragma once

#ifndef _WIN32
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace adaptag {

// Leaves elements as they are until they are written, and asks for large pages for large arrays:
// one page fault in place of 512, and fewer misses of the translation cache.
template <class T>
struct LargeAllocator {
  using value_type = T;

  LargeAllocator() = default;
  template <class U>
  LargeAllocator(const LargeAllocator<U>&) {}

  T* allocate(size_t n) {
    const size_t bytes = n * sizeof(T);
    void* p = nullptr;
#ifdef MADV_HUGEPAGE
    constexpr size_t page = size_t{1} << 21;
    if (bytes >= page) {
      p = std::aligned_alloc(page, (bytes + page - 1) / page * page);
      if (p) madvise(p, bytes, MADV_HUGEPAGE);
    }
#endif
    if (!p) p = std::malloc(bytes ? bytes : 1);
    if (!p) throw std::bad_alloc();
    return static_cast<T*>(p);
  }
  void deallocate(T* p, size_t) { std::free(p); }

  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }

  friend bool operator==(const LargeAllocator&, const LargeAllocator&) { return true; }
};

template <class T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace adaptag
