// Tags sequences of items one at a time, with as little work per call as possible.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../sparse_chain.hpp"
#include "item_reader.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

// A sparse chain with the sequence that was set last. The GIL is kept: sequences are short. What
// runs Python code, and so may let another thread in, works on scores of its own.
class ItemTagger {
 public:
  ItemTagger(In<uint8_t> names, In<uint32_t> ends, In<int64_t> rows, In<uint32_t> targets,
             In<double> weights, In<double, 2> transitions, std::vector<std::string> labels)
      : rows_(rows),
        targets_(targets),
        weights_(weights),
        chain_({span(names), span(ends), {}}, span(rows), span(targets), span(weights),
               span(transitions), int(labels.size())) {
    for (const std::string& label : labels) labels_.append(nb::str(label.c_str(), label.size()));
  }

  void set(nb::handle sequence) {
    auto scores = chain_.begin();
    ItemReader(scores).read(sequence);
    if (chain_.n_labels() == 0 && scores.n_items() > 0)
      throw InputError("the model has no labels; it was trained without data");
    chain_.set(std::move(scores));
  }

  nb::list tag() {
    path_.resize(size_t(chain_.length()));
    chain_.viterbi(path_.data());
    return named(path_, labels_);
  }
  nb::list tag_items(nb::handle sequence) {
    set(sequence);
    return tag();
  }

  double log_probability(const std::vector<int32_t>& path) {
    if (path.size() != size_t(chain_.length()))
      throw std::invalid_argument("one label is needed for each item");
    for (const int32_t label : path) check_label(label);
    return chain_.log_probability(path.data());
  }
  double marginal(int label, int64_t position) {
    check_label(label);
    if (position < 0 || position >= chain_.length())
      throw std::invalid_argument("the position is out of range");
    return chain_.marginal(int(position), label);
  }
  int length() const { return chain_.length(); }

 private:
  void check_label(int label) const {
    if (label < 0 || label >= chain_.n_labels())
      throw std::invalid_argument("a label is out of range");
  }

  In<int64_t> rows_;  // arrays that the chain looks into
  In<uint32_t> targets_;
  In<double> weights_;
  SparseChain chain_;
  nb::list labels_;
  std::vector<int32_t> path_;
};

}  // namespace
}  // namespace adaptag

void bind_item_tagger(nb::module_& m) {
  using namespace adaptag;
  nb::class_<ItemTagger>(m, "ItemTagger")
      .def(nb::init<In<uint8_t>, In<uint32_t>, In<int64_t>, In<uint32_t>, In<double>, In<double, 2>,
                    std::vector<std::string>>(),
           "names"_a.noconvert(), "ends"_a.noconvert(), "rows"_a.noconvert(),
           "targets"_a.noconvert(), "weights"_a.noconvert(), "transitions"_a.noconvert(),
           "labels"_a)
      .def("set", &ItemTagger::set, "sequence"_a.none())
      .def("tag", &ItemTagger::tag)
      .def("tag_items", &ItemTagger::tag_items, "sequence"_a.none())
      .def("log_probability", &ItemTagger::log_probability, "path"_a)
      .def("marginal", &ItemTagger::marginal, "label"_a, "position"_a)
      .def("__len__", &ItemTagger::length);
}
