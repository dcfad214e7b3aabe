// How a global learning rate falls.
#pragma once

#include <cmath>

#include "declaration.hpp"

namespace adaptag {

constexpr Parameter decay_parameter{"decay", 0.85, "(0, 1]",
                                    "factor of the rate per pass (schedule exponential)"};

// γ_t of update t, N updates in a pass.
struct Schedule {
  enum Kind {
    exponential,  // γ₀ α^{t/N}          Tsuruoka et al. (2009), equation 6
    harmonic,     // γ₀ / (1 + t/N)      equation 5, after Collins et al. (2008)
    bordes        // γ₀ / (1 + λγ₀t)     Bottou's 1/(λ(t + t₀)), as Bordes et al. (2009) use it
  };

  Kind kind;
  double rate;  // γ₀
  double decay;
  double n_updates;   // N
  double lambda = 0;  // λ

  double operator()(uint64_t t) const {
    if (kind == exponential) return rate * std::pow(decay, double(t) / n_updates);
    return rate / (1 + double(t) * (kind == harmonic ? 1 / n_updates : lambda * rate));
  }
};

}  // namespace adaptag
