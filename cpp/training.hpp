// Online training as the bindings see it: which algorithms there are, and a run of one of them.
#pragma once

#include <memory>
#include <string_view>

#include "objective.hpp"
#include "trainers/declaration.hpp"

namespace adaptag {

class Training {
 public:
  virtual ~Training() = default;
  // Trains on sentences in order. Where there is a place for them [T], it also finds the best
  // labels of each sentence, right before it learns from it.
  virtual Totals run(const Dataset& data, std::span<const uint32_t> order, int32_t* best) = 0;
  // The weights as the user gets them; changes nothing.
  virtual void read(float* out) = 0;
  // Brings Python's arrays up to date, where the run keeps some of its own.
  virtual void sync() {}
  // The number of sentences per update.
  virtual size_t batch() const = 0;
};

// The arrays of a run, which Python owns.
struct Arrays {
  std::span<float> weights;           // [n_weights]
  std::span<float> per_weight_state;  // [n_weights], or empty
  std::span<uint8_t> row_state;       // n_predicates times the declared row state
  std::span<uint8_t> run_state;       // the declared run state
};

std::vector<Declaration> declarations();

// A run of the algorithm of this name, with values of its parameters in their order, where n
// sentences make a pass; throws where there is none, or the arrays do not fit. The data must
// outlive it.
std::unique_ptr<Training> make_training(std::string_view name, std::span<const double> values,
                                        const Layout& layout, const Dataset& data, size_t n,
                                        const Arrays& arrays, int threads, bool lock_free);

}  // namespace adaptag
