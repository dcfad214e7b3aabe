// What a training algorithm says of itself, and what it is told of its task.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "../layout.hpp"

namespace adaptag {

struct Parameter {
  std::string_view name;
  double initial;
  // An interval, e.g. "(0, 1]", with "integer" in front for whole numbers and "auto or" where it
  // can be calibrated; or names, e.g. "fast | slow", whose values are 0, 1, …
  std::string_view bounds;
  std::string_view help;
};

struct Field {
  std::string_view name;
  std::string_view dtype;  // NumPy's name
};

struct Declaration {
  std::string_view name;
  std::string_view objective;  // what it optimises
  std::string_view advice;     // when to use it
  int passes;                  // over the data, unless the user says otherwise
  std::vector<Parameter> parameters;
  std::vector<Field> row;    // state for each predicate: the fields of Row
  std::vector<Field> clock;  // state for the whole run: the fields of Clock
  std::string_view shadow;   // what the second float for each weight is; empty: there is none
  bool looks_ahead = false;  // whether it needs all data before it starts
};

// Parameters that several algorithms share.
constexpr Parameter rate_parameter(double initial) {
  return {"rate", initial, "auto or (0, inf)", "initial learning rate"};
}
constexpr Parameter sigma_parameter{"sigma", 5.0, "(0, inf]",
                                    "standard deviation of the Gaussian prior; inf: none"};
constexpr Parameter batch_parameter{"batch", 1, "integer [1, 1000000]", "sentences in each update"};
constexpr Parameter period_parameter{
    "period", 0, "integer [0, 1000000000]",
    "updates between two regularisations of all weights; 0: such that they cost little"};

// Values of the declared parameters, in the order of the declaration.
using Values = std::span<const double>;

// What an algorithm knows before it starts.
struct Task {
  Layout layout;
  const Dataset& data;
  size_t n;      // sentences in a pass: those of the data, or what a stream takes for a pass
  size_t batch;  // b, sentences in each update

  // N = ⌈n / b⌉ updates in a pass
  double n_updates() const { return double((n + batch - 1) / batch); }
  // λ = 1 / (Nσ²), the part of the prior that falls to one update
  double prior(double sigma) const { return 1.0 / (n_updates() * sigma * sigma); }

  // The period that was given, or one at which regularising all rows costs about an eighth of the
  // updates (Bottou's SVMSGD2), at least once in each pass, and so often that weights never shrink
  // by more than a quarter; they shrink by at most `shrink` for each update in a period.
  uint64_t period(double given, double shrink) const {
    if (given > 0) return uint64_t(given);
    const double rows = double(layout.n_predicates());
    const double firings = double(data.n_firings()) * (double(n) / double(data.size()));
    const double cheap = 8 * rows * n_updates() / std::max(1.0, firings);
    return uint64_t(std::max(1.0, std::min({n_updates(), cheap, 0.25 / shrink})));
  }
};

// The arrays that Python owns.
template <class Row, class Clock>
struct State {
  float* weights;
  float* shadow;  // as long as weights, or null
  Row* rows;      // one for each predicate
  Clock* clock;
};

}  // namespace adaptag
