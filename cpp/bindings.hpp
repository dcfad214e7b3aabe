// What the bindings share: arrays of Python's, seen by the core, and arrays handed over to Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <span>
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

// Hands a vector over to NumPy without copying it.
template <class T>
auto numpy(std::vector<T>&& data, std::vector<size_t> shape = {}) {
  if (shape.empty()) shape.push_back(data.size());
  auto* kept = new std::vector<T>(std::move(data));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner);
}

void bind_segmentation(nb::module_& m);  // segment_bindings.cpp
