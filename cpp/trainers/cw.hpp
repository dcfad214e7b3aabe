// CW: confidence-weighted learning, in the form that constrains the standard deviation.
// Dredze, Crammer, Pereira (2008); Crammer, Dredze, Pereira (2008).
//
//   the smallest change with P(wᵀΔ ≥ 0) ≥ η:   φ = Φ⁻¹(η),  ψ = 1 + φ²/2,  ξ = 1 + φ²,
//   α = max(0, (−Mψ + √(M²φ⁴/4 + Vφ²ξ)) / (Vξ)),
//   √u = (−αVφ + √(α²V²φ² + 4V)) / 2,   κ = αφ / √u                   (symbols: confidence.hpp)
#pragma once

#include "confidence.hpp"

namespace adaptag {

struct CwRule {
  static constexpr std::string_view name = "cw";
  static constexpr std::string_view objective =
      "the probability that weights drawn from a Gaussian score the gold path highest";
  static constexpr std::string_view advice =
      "A baseline of the literature; more sensitive to noise in the labels than arow.";
  static constexpr Parameter parameter{"confidence", 0.9, "(0.5, 1)",
                                       "minimum probability η for each sentence"};

  static constexpr bool takes_mean = true;  // each step goes all the way: their sum runs away

  explicit CwRule(double confidence) : phi(quantile(confidence)) {}

  Step step(double margin, double variance, int) const {
    const double square = phi * phi, psi = 1 + square / 2, xi = 1 + square, V = variance;
    const double root = std::sqrt(margin * margin * square * square / 4 + V * square * xi);
    const double alpha = (-margin * psi + root) / (V * xi);
    if (!(alpha > 0)) return {};
    // √u as 2V / (αVφ + √…), which never cancels to 0 or below where V is small.
    const double deviation =
        2 * V / (alpha * V * phi + std::sqrt(alpha * alpha * V * V * square + 4 * V));
    // Where labels contradict each other, variances go to 0 and steps beyond what float32 holds.
    return {float(std::min(alpha, 1e30)), float(std::min(alpha * phi / deviation, 1e30))};
  }

  double phi;

 private:
  // Φ⁻¹(p) by bisection of Φ(x) = erfc(−x/√2) / 2.
  static double quantile(double p) {
    double low = 0, high = 40;
    for (int k = 0; k < 100; ++k) {
      const double middle = (low + high) / 2;
      (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
    }
    return low;
  }
};

using Cw = Confidence<CwRule>;

}  // namespace adaptag
