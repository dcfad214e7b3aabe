// What the bindings share: views of Python's arrays, arrays handed over to Python, and one function
// for each area that adds its names to the module.
//
// Only the files in this folder know nanobind. Arguments are checked here, once; the loops below
// run without the GIL on arrays that Python owns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace nb = nanobind;

template <class T, int D = 1>
using In = nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <class T, int D = 1>
using Out = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;

// A view of an array, empty where the argument is None.
template <class T, class... Rest>
std::span<const T> span(const nb::ndarray<const T, Rest...>& a) {
  return {a.data(), a.size()};
}
template <class T, class... Rest>
std::span<const T> span(const std::optional<nb::ndarray<const T, Rest...>>& a) {
  return a ? span(*a) : std::span<const T>{};
}

inline std::string_view as_text(const In<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Hands a vector over to NumPy without copying it.
template <class T, class Allocator>
auto numpy(std::vector<T, Allocator>&& data, std::vector<size_t> shape = {}) {
  using Vector = std::vector<T, Allocator>;
  if (shape.empty()) shape.push_back(data.size());
  auto* owned = new Vector(std::move(data));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Vector*>(p); });
  return nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner);
}

void bind_corpus(nb::module_& m);
void bind_items(nb::module_& m);
void bind_item_tagger(nb::module_& m);
void bind_features(nb::module_& m);
void bind_index_builder(nb::module_& m);
void bind_dataset(nb::module_& m);
void bind_training(nb::module_& m);
void bind_compact(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_decoding(nb::module_& m);
void bind_lexicon(nb::module_& m);
void bind_segmentation(nb::module_& m);
void bind_cutting(nb::module_& m);
