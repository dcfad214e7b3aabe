// THE registry: one line for each online training algorithm.
#pragma once

#include <tuple>

#include "adf_documents.hpp"
#include "arow.hpp"
#include "cw.hpp"
#include "dca.hpp"
#include "madf.hpp"
#include "pa.hpp"
#include "perceptron.hpp"
#include "sgd_documents.hpp"
#include "sgd_l1.hpp"

namespace adaptag {

using Algorithms =
    std::tuple<Adf, Madf, Sgd, SgdL1, Perceptron, AveragedPerceptron, Pa, Dca, Cw, Arow>;

// The compiler says which requirement an algorithm does not meet.
static_assert([]<class... A>(std::tuple<A...>*) {
  return (TrainingAlgorithm<A, 8> && ...);
}(static_cast<Algorithms*>(nullptr)));

// Calls f.operator()<Algorithm>() for each registered algorithm.
template <class F>
void for_each_algorithm(F&& f) {
  [&]<class... A>(std::tuple<A...>*) {
    (f.template operator()<A>(), ...);
  }(static_cast<Algorithms*>(nullptr));
}

}  // namespace adaptag
