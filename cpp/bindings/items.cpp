// Python data of items: packed into the text and cells of a corpus, or kept as attributes.
#include "../vocabulary.hpp"
#include "cells.hpp"
#include "item_reader.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

// Sequences of items as the arrays of a corpus. Attributes of value 0 say nothing and are left out,
// unless they are to be kept.
class ItemPacker {
 public:
  explicit ItemPacker(bool keep_zeros) : keep_zeros_(keep_zeros) {}

  // Adds a sequence; nothing is left of one that is refused.
  void add(nb::handle sequence) {
    const size_t n_attributes = cells_.size(), n_items = positions_.size();
    try {
      ItemReader(*this, size()).read(sequence);
    } catch (...) {
      cells_.resize(n_attributes);
      values_.resize(n_attributes);
      positions_.resize(n_items);
      throw;
    }
    sentences_.push_back(int64_t(positions_.size()) - 1);
  }

  void add_attribute(std::string_view name, double value) {
    if (value == 0 && !keep_zeros_) return;
    cells_.push_back(names_.intern(name));
    values_.push_back(float(value));
  }
  void end_item() { positions_.push_back(int64_t(cells_.size())); }

  // The text, cells, values, positions and sentences of an AttributeCorpus.
  nb::tuple arrays() const {
    std::vector<Span> cells;
    cells.reserve(cells_.size());
    for (const uint32_t id : cells_) cells.push_back({names_.offsets[id], names_.offsets[id + 1]});
    const size_t F = cells.size();
    return nb::make_tuple(numpy(std::vector(names_.bytes)), numpy_cells(std::move(cells), {F, 1}),
                          numpy(std::vector(values_)), numpy(std::vector(positions_)),
                          numpy(std::vector(sentences_)));
  }
  size_t size() const { return sentences_.size() - 1; }

 private:
  const bool keep_zeros_;
  Vocabulary names_;
  std::vector<uint32_t> cells_;  // [F] numbers of names
  std::vector<float> values_;    // [F]
  std::vector<int64_t> positions_{0}, sentences_{0};
};

nb::tuple pack_items(nb::handle sequences, bool keep_zeros) {
  if (!is_list_like(sequences))
    throw InputError("the data is " + described(sequences) +
                     "; allowed: a list of sequences, each a list of items");
  ItemPacker packer(keep_zeros);
  for (nb::handle sequence : sequences) packer.add(sequence);
  return packer.arrays();
}

// The attributes of each item as a dictionary.
struct DictionarySink {
  nb::list items;
  nb::dict item;

  void add_attribute(std::string_view name, double value) {
    PyObject* const key = PyUnicode_DecodeUTF8(name.data(), Py_ssize_t(name.size()), nullptr);
    if (!key) {
      PyErr_Clear();
      throw InputError("an attribute is not valid UTF-8");
    }
    item[nb::steal(key)] = value;
  }
  void end_item() {
    items.append(item);
    item = nb::dict();
  }
};

}  // namespace
}  // namespace adaptag

void bind_items(nb::module_& m) {
  using namespace adaptag;
  m.def("pack_items", &pack_items, "sequences"_a.none(), "keep_zeros"_a = false);
  nb::class_<ItemPacker>(m, "ItemPacker")
      .def(nb::init<bool>(), "keep_zeros"_a = false)
      .def("add", &ItemPacker::add, "sequence"_a.none())
      .def("arrays", &ItemPacker::arrays)
      .def("__len__", &ItemPacker::size);
  nb::class_<ItemSequence>(m, "ItemSequence")
      .def(
          "__init__",
          [](ItemSequence* self, nb::handle items) {
            ItemSequence read;
            ItemReader(read).read(items);
            new (self) ItemSequence(std::move(read));
          },
          "items"_a.none())
      .def("items",
           [](const ItemSequence& self) {
             DictionarySink sink;
             self.copy_to(sink);
             return sink.items;
           })
      .def("__len__", &ItemSequence::size);
}
