// Layouts of weights, and encoded datasets.
#include "dataset.hpp"

#include <nanobind/stl/optional.h>

using namespace nb::literals;

void bind_dataset(nb::module_& m) {
  using namespace adaptag;
  nb::class_<Layout>(m, "Layout")
      .def(nb::init<int, uint32_t, uint32_t, uint32_t>(), "n_labels"_a, "n_node"_a, "n_both"_a,
           "n_edge"_a)
      .def_ro("n_labels", &Layout::n_labels)
      .def_ro("width", &Layout::width)
      .def_ro("n_node", &Layout::n_node)
      .def_ro("n_both", &Layout::n_both)
      .def_ro("n_edge", &Layout::n_edge)
      .def_prop_ro("n_predicates", &Layout::n_predicates)
      .def_prop_ro("n_weights", &Layout::n_weights);

  nb::class_<PyDataset>(m, "Dataset")
      .def(nb::init<const Layout&, In<int64_t>, In<int64_t>, In<uint32_t>, std::optional<In<float>>,
                    std::optional<In<int32_t>>, std::optional<In<uint8_t, 2>>,
                    std::optional<In<float>>, std::optional<uint32_t>>(),
           "layout"_a, "sentences"_a.noconvert(), "positions"_a.noconvert(),
           "predicates"_a.noconvert(), "values"_a.noconvert().none(), "labels"_a.noconvert().none(),
           "legal"_a.noconvert().none() = nb::none(), "weights"_a.noconvert().none() = nb::none(),
           "always"_a.none() = nb::none());
}
