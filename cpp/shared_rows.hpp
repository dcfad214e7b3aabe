// Reads and writes of weights and of their state: the only place where training may race.
//
// In lock-free training (Hogwild: Niu, Recht, Ré, Wright 2011) threads read and write the same rows
// without locks. A write may be lost, and a row may be read half written, but every number is read
// as one that was written: floats and integers of up to 8 bytes do not tear. All of that happens in
// the functions below, which compile to plain loads and stores; what a thread sanitizer finds
// elsewhere is a mistake. With ADAPTAG_NO_RACES, for training that must not race, it looks here
// too.
#pragma once

#include <type_traits>

#include "simd.hpp"

#if defined(__SANITIZE_THREAD__) && !defined(ADAPTAG_NO_RACES)
#define ADAPTAG_RACES_ARE_HIDDEN
#define ADAPTAG_MAY_RACE [[gnu::noinline, gnu::no_sanitize("thread")]]
#else
#define ADAPTAG_MAY_RACE
#endif

namespace adaptag {

// A number of a row's state.
template <class T>
ADAPTAG_MAY_RACE inline T read_shared(const T& number) {
  return number;
}
template <class T>
ADAPTAG_MAY_RACE inline void write_shared(T& number, std::type_identity_t<T> value) {
  number = value;
}

// The state of a row while it changes, in its place; for a sanitizer a copy that is written back.
template <class State>
class SharedState {
 public:
#ifdef ADAPTAG_RACES_ARE_HIDDEN
  explicit SharedState(State& shared) : shared_(shared), state_(read_shared(shared)) {}
  ~SharedState() { write_shared(shared_, state_); }
#else
  explicit SharedState(State& shared) : state_(shared) {}
#endif
  SharedState(const SharedState&) = delete;
  State& operator*() { return state_; }
  State* operator->() { return &state_; }

 private:
#ifdef ADAPTAG_RACES_ARE_HIDDEN
  State& shared_;
  State state_;
#else
  State& state_;
#endif
};

// A vector of weights.
template <class V>
ADAPTAG_MAY_RACE inline V read_shared(const float* p) {
  V value;
  __builtin_memcpy(&value, p, sizeof value);
  return value;
}
template <class V>
ADAPTAG_MAY_RACE inline void write_shared(float* p, V value) {
  __builtin_memcpy(p, &value, sizeof value);
}

// out [W] += a · row, of which only the row is shared.
template <class Ops>
void add_shared_row(const Ops& ops, float* out, const float* row, float a) {
  for (int j = 0; j < ops.width(); j += Ops::lanes)
    Ops::store(out + j, Ops::load(out + j) + read_shared<typename Ops::V>(row + j) * a);
}

}  // namespace adaptag
