#include "training.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "trainers/registry.hpp"

namespace adaptag {

std::vector<Declaration> declarations() {
  std::vector<Declaration> all;
  for_each_algorithm([&]<class A>() {
    all.push_back(A::declaration());
    all.back().looks_ahead = A::hooks.prepare;
  });
  return all;
}

namespace {

template <class T>
constexpr size_t size_of = std::is_empty_v<T> ? 0 : sizeof(T);

template <class A>
std::unique_ptr<Training> make(const Declaration& d, const Values& values, Task task,
                               const Arrays& arrays) {
  using RowState = typename A::RowState;
  using RunState = typename A::RunState;
  if (arrays.row_state.size() != size_of<RowState> * task.layout.n_predicates() ||
      arrays.run_state.size() != size_of<RunState> ||
      arrays.weights.size() != task.layout.n_weights() ||
      arrays.per_weight_state.size() != (d.per_weight_state.empty() ? 0 : arrays.weights.size()))
    throw std::invalid_argument("the state does not fit the algorithm");
  const State<RowState, RunState> state{arrays.weights.data(), arrays.per_weight_state.data(),
                                        reinterpret_cast<RowState*>(arrays.row_state.data()),
                                        reinterpret_cast<RunState*>(arrays.run_state.data())};
  if constexpr (A::hooks.special_form)
    if (auto special = A::special_form(values, task, state)) return special;
  if (!task.lock_free)
    task.batch = std::max(task.batch, size_t(task.threads));  // a sentence for each thread
  return with_width(task.layout.width, [&]<int W>() -> std::unique_ptr<Training> {
    return std::make_unique<TrainingWith<A, W>>(values, task, state);
  });
}

}  // namespace

std::unique_ptr<Training> make_training(std::string_view name, std::span<const double> values,
                                        const Layout& layout, const Dataset& data, size_t n,
                                        const Arrays& arrays, int threads, bool lock_free) {
  if (data.size() == 0) throw std::invalid_argument("no sentences to train on");
  std::unique_ptr<Training> training;
  for_each_algorithm([&]<class A>() {
    const Declaration d = A::declaration();
    if (d.name != name) return;
    const Values by_name(d.parameters, values);
    const size_t batch = by_name.contains("batch") ? size_t(by_name["batch"]) : 1;
    training = make<A>(d, by_name, {layout, data, n, batch, threads, lock_free}, arrays);
  });
  if (!training) throw std::invalid_argument("unknown algorithm " + std::string(name));
  return training;
}

}  // namespace adaptag
