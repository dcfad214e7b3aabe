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
//     team.wait(member);
//     …
//   });
class Team {
 public:
  // Thrown by `wait` where another member has failed; in_team passes on what that one threw.
  struct Abandoned {};

  int size() const { return size_; }

  // Goes on when all members are here; what they wrote before is seen by all. All members must
  // wait equally often. A short wait burns cycles, a longer one sleeps.
  void wait(int member) {
    const uint32_t phase = at_[member].phase.load(std::memory_order_relaxed) + 1;
    arrive(member, phase);
    for (int k = 0; k < size_; ++k)
      if (k != member) wait_for(k, phase);
    if (abandoned_.load(std::memory_order_acquire)) throw Abandoned{};
  }

 private:
  template <class F>
  friend void in_team(int shares, F&& f);
  static constexpr int spins = 2000;  // some ten microseconds
  static constexpr uint32_t gone = 1u << 31;

  // How many phases a member has ended: the others look at it, on a cache line of its own.
  struct alignas(128) Arrival {
    std::atomic<uint32_t> phase{0};
  };

  explicit Team(int shares) : at_(shares) {}

  void arrive(int member, uint32_t phase) {
    at_[member].phase.store(phase, std::memory_order_release);
    at_[member].phase.notify_all();
  }
  void wait_for(int member, uint32_t phase) {
    const std::atomic<uint32_t>& at = at_[member].phase;
    const auto behind = [&](uint32_t now) { return int32_t(now - phase) < 0 && now != gone; };
    uint32_t now = at.load(std::memory_order_acquire);
    for (int k = 0; k < spins && behind(now); ++k) {
      pause();
      now = at.load(std::memory_order_acquire);
    }
    for (; behind(now); now = at.load(std::memory_order_acquire))
      at.wait(now, std::memory_order_acquire);
  }
  void abandon(int member) {
    abandoned_.store(true, std::memory_order_release);
    arrive(member, gone);
  }
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  int size_ = 0;  // known when the first member begins
  std::atomic<bool> abandoned_{false};
  std::vector<Arrival> at_;  // [shares]
};

// Calls f(team, 0) … f(team, size − 1) at the same time, the first in this thread, with one thread
// for each share, or as many as the system gives, and waits for all. Passes on the first of what
// they threw.
template <class F>
void in_team(int shares, F&& f) {
  Team team(shares);
  std::vector<std::exception_ptr> thrown(shares);
  const auto call = [&](int member) {
    try {
      f(team, member);
    } catch (const Team::Abandoned&) {
      team.abandon(member);
    } catch (...) {
      thrown[member] = std::current_exception();
      team.abandon(member);
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(shares);
  try {
    for (int k = 1; k < shares; ++k)
      threads.emplace_back([&, k] {
        team.wait_for(0, 1);
        call(k);
      });
  } catch (const std::exception&) {  // no more threads
  }
  team.size_ = int(threads.size()) + 1;
  for (int k = int(threads.size()); k >= 0; --k)
    team.arrive(k, 1);  // 0 comes last: they wait for it
  call(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : thrown)
    if (one) std::rethrow_exception(one);
}

}  // namespace adaptag
