// Work in threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
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

// Threads that do their shares of the same work, and wait for each other in between. The system may
// give fewer threads than there are shares: then some threads do several.
//
//   in_team(shares, [&](Team& team, int member) {
//     for (int k = member; k < shares; k += team.size()) first_part(k);
//     team.wait();
//     …
//   });
class Team {
 public:
  // Thrown by `wait` where another member has failed; in_team passes on what that one threw.
  struct Abandoned {};

  int size() const { return size_; }

  // Goes on when all members are here; what they wrote before is seen by all. All members must
  // wait equally often. A short wait burns cycles, a longer one sleeps.
  void wait() {
    if (size_ > 1) {
      const uint32_t phase = phase_.load(std::memory_order_acquire);
      check();  // after the phase was read: whoever fails from here on ends it
      if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
        arrived_.store(0, std::memory_order_relaxed);
        advance();
      } else {
        wait_beyond(phase);
      }
    }
    check();
  }

 private:
  template <class F>
  friend void in_team(int shares, F&& f);
  static constexpr int spins = 2000;  // some ten microseconds

  void check() const {
    if (abandoned_.load(std::memory_order_acquire)) throw Abandoned{};
  }
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  void wait_beyond(uint32_t phase) {
    for (int k = 0; k < spins; ++k) {
      if (phase_.load(std::memory_order_acquire) != phase) return;
      pause();
    }
    phase_.wait(phase, std::memory_order_acquire);
  }
  void advance() {
    phase_.fetch_add(1, std::memory_order_acq_rel);
    phase_.notify_all();
  }
  void start(int size) {
    size_ = size;
    advance();
  }
  void abandon() {
    abandoned_.store(true, std::memory_order_release);
    advance();
  }

  int size_ = 0;  // known when phase 0 is over
  std::atomic<bool> abandoned_{false};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> phase_{0};
};

// Calls f(team, 0) … f(team, size − 1) at the same time, the first in this thread, with one thread
// for each share, or as many as the system gives, and waits for all. Passes on the first of what
// they threw.
template <class F>
void in_team(int shares, F&& f) {
  Team team;
  std::vector<std::exception_ptr> thrown(shares);
  const auto call = [&](int member) {
    try {
      f(team, member);
    } catch (const Team::Abandoned&) {
    } catch (...) {
      thrown[member] = std::current_exception();
      team.abandon();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(shares);
  try {
    for (int k = 1; k < shares; ++k)
      threads.emplace_back([&, k] {
        team.wait_beyond(0);
        call(k);
      });
  } catch (const std::exception&) {  // no more threads
  }
  team.start(int(threads.size()) + 1);
  call(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : thrown)
    if (one) std::rethrow_exception(one);
}

}  // namespace adaptag
