#include "training.hpp"

#include <stdexcept>
#include <string>
#include <type_traits>

#include "trainers/adf_binary.hpp"
#include "trainers/registry.hpp"

namespace adaptag {

std::vector<Declaration> declarations() {
  std::vector<Declaration> all;
  for_each_algorithm([&]<class A>() { all.push_back(A::declaration()); });
  return all;
}

namespace {

template <class T>
constexpr size_t size_of = std::is_empty_v<T> ? 0 : sizeof(T);

template <class A>
std::unique_ptr<Training> make(const Declaration& d, Values values, const Task& task,
                               const Arrays& arrays) {
  using Row = typename A::Row;
  using Clock = typename A::Clock;
  if (arrays.rows.size() != size_of<Row> * task.layout.n_predicates() ||
      arrays.clock.size() != size_of<Clock> || arrays.weights.size() != task.layout.n_weights() ||
      arrays.shadow.size() != (d.shadow.empty() ? 0 : arrays.weights.size()))
    throw std::invalid_argument("the state does not fit the algorithm");
  const State<Row, Clock> state{arrays.weights.data(), arrays.shadow.data(),
                                reinterpret_cast<Row*>(arrays.rows.data()),
                                reinterpret_cast<Clock*>(arrays.clock.data())};
  if constexpr (std::is_same_v<A, Adf>)
    if (BinaryAdf::fits(task.layout, task.batch))
      return std::make_unique<BinaryAdf>(task, state, A(values, task, state));
  return with_width(task.layout.width, [&]<int W>() -> std::unique_ptr<Training> {
    return std::make_unique<TrainingWith<A, W>>(task, state.weights, A(values, task, state));
  });
}

}  // namespace

std::unique_ptr<Training> make_training(std::string_view name, Values values, const Layout& layout,
                                        const Dataset& data, size_t n, const Arrays& arrays) {
  if (data.size() == 0) throw std::invalid_argument("no sentences to train on");
  std::unique_ptr<Training> training;
  for_each_algorithm([&]<class A>() {
    const Declaration d = A::declaration();
    if (d.name != name) return;
    if (values.size() != d.parameters.size())
      throw std::invalid_argument("a value for each parameter is needed");
    size_t batch = 1;
    for (size_t k = 0; k < values.size(); ++k)
      if (d.parameters[k].name == "batch") batch = size_t(values[k]);
    training = make<A>(d, values, {layout, data, n, batch}, arrays);
  });
  if (!training) throw std::invalid_argument("unknown algorithm " + std::string(name));
  return training;
}

}  // namespace adaptag
