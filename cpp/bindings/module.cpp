// The module of the core; all its variants have the same names.
#include "bindings.hpp"

NB_MODULE(ADAPTAG_MODULE, m) {
  m.doc() = "The native core; see ARCHITECTURE.md.";
  bind_corpus(m);
  bind_items(m);
  bind_features(m);
  bind_index_builder(m);
  bind_dataset(m);
  bind_training(m);
  bind_decoding(m);
  bind_lexicon(m);
  bind_segmentation(m);
}
