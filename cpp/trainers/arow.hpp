// AROW: adaptive regularisation of weight vectors. Crammer, Kulesza, Dredze (2009).
//
//   ℓ = Hamming(y_i, ŷ) − M,   α = ℓ / (V + r),   κ = 1 / r          (symbols: confidence.hpp)
#pragma once

#include "confidence.hpp"

namespace adaptag {

struct ArowRule {
  static constexpr std::string_view name = "arow";
  static constexpr std::string_view objective =
      "the squared hinge loss, with a variance for each weight that decreases with every update";
  static constexpr std::string_view advice =
      "Large margins with a step length per weight; rare features are learned fast.";
  static constexpr Parameter parameter{
      "gamma", 100.0, "(0, inf)",
      "r: the larger, the less one sentence changes weights and variances"};

  static constexpr bool takes_mean = false;

  explicit ArowRule(double gamma) : r(gamma) {}

  Step step(double margin, double variance, int wrong) const {
    const double loss = wrong - margin;
    return loss > 0 ? Step{float(loss / (variance + r)), float(1 / r)} : Step{};
  }

  double r;
};

using Arow = Confidence<ArowRule>;

}  // namespace adaptag
