// The module of the core; all its variants have the same names.
#include "../errors.hpp"
#include "bindings.hpp"

NB_MODULE(ADAPTAG_MODULE, m) {
  m.doc() = "The native core; see ARCHITECTURE.md.";
  nb::set_leak_warnings(false);  // what an interrupted program still holds at its end is no leak
  nb::exception<adaptag::InputError>(m, "InputError", PyExc_ValueError);
  nb::exception<adaptag::NoPathError>(m, "NoPathError", PyExc_ValueError);
  bind_corpus(m);
  bind_items(m);
  bind_item_tagger(m);
  bind_features(m);
  bind_index_builder(m);
  bind_dataset(m);
  bind_training(m);
  bind_compact(m);
  bind_batch(m);
  bind_decoding(m);
  bind_lexicon(m);
  bind_segmentation(m);
  bind_cutting(m);
}
