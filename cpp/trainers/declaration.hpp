// What a training algorithm declares, and what it is told of its task.
#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../layout.hpp"

namespace adaptag {

struct Parameter {
  std::string_view name;
  double initial;
  // An interval, e.g. "(0, 1]", with "integer" in front for whole numbers and "auto or" where it
  // can be found on a sample; or names, e.g. "fast | slow", whose values are 0, 1, …
  std::string_view bounds;
  std::string_view help;
  bool automatic = false;  // "auto" unless it is given; a search starts from the number
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
  std::vector<Field> row_state;       // the fields of RowState, the state of one predicate
  std::vector<Field> run_state;       // the fields of RunState, the state of the whole run
  std::string_view per_weight_state;  // what the float beside each weight is; empty: there is none
  bool looks_ahead = false;           // needs all data before it starts; follows from its hooks
};

// Parameters that several algorithms share.
constexpr Parameter rate_parameter(double initial, bool automatic = false) {
  return {"rate", initial, "auto or (0, inf)",
          "initial learning rate; auto finds one on a sample of the data", automatic};
}
constexpr Parameter sigma_parameter{"sigma", 5.0, "(0, inf]",
                                    "standard deviation of the Gaussian prior; inf means no prior"};
constexpr Parameter batch_parameter{"batch", 1, "integer [1, 1000000]",
                                    "number of sentences per update"};
constexpr Parameter period_parameter{"period", 0, "integer [0, 1000000000]",
                                     "number of updates between regularisations of all weights; 0 "
                                     "means a number at which they cost little"};

// The values of the declared parameters, by name.
class Values {
 public:
  // Values in the order of the declaration; both must outlive this.
  Values(std::span<const Parameter> declared, std::span<const double> values)
      : declared_(declared), values_(values) {
    if (values.size() != declared.size())
      throw std::invalid_argument("a value for each parameter is needed");
  }

  bool contains(std::string_view name) const { return place(name) < declared_.size(); }
  double operator[](std::string_view name) const {
    const size_t k = place(name);
    if (k == declared_.size())
      throw std::logic_error("a parameter that is not declared was read: " + std::string(name));
    return values_[k];
  }
  // Of a parameter whose bounds are names: an enumeration of them, in the order of the bounds.
  template <class Choice>
  Choice choice(std::string_view name) const {
    return Choice(int((*this)[name]));
  }

 private:
  size_t place(std::string_view name) const {
    const auto at = std::find_if(declared_.begin(), declared_.end(),
                                 [&](const Parameter& p) { return p.name == name; });
    return size_t(at - declared_.begin());
  }

  std::span<const Parameter> declared_;
  std::span<const double> values_;
};

// What an algorithm knows before it starts.
struct Task {
  Layout layout;
  const Dataset& data;
  size_t n;      // sentences in a pass: those of the data, or what a stream takes for a pass
  size_t batch;  // b, sentences in each update
  int threads = 1;
  bool lock_free = false;  // whether threads train the same rows, or each its own

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

// The arrays of a run, which Python owns.
template <class RowState, class RunState>
struct State {
  float* weights;           // [n_weights]
  float* per_weight_state;  // [n_weights], or null
  RowState* rows;           // [n_predicates]
  RunState* run;
};

}  // namespace adaptag
