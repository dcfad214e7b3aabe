// THE registry: one line for each training algorithm.
#pragma once

#include <tuple>

#include "adf.hpp"
#include "sgd.hpp"

namespace adaptag {

using Algorithms = std::tuple<Adf, Sgd>;

// Calls f.operator()<Algorithm>() for each registered algorithm.
template <class F>
void for_each_algorithm(F&& f) {
  [&]<class... A>(std::tuple<A...>*) {
    (f.template operator()<A>(), ...);
  }(static_cast<Algorithms*>(nullptr));
}

}  // namespace adaptag
