// One program for all targets: libFuzzer calls the one that ADAPTAG_FUZZ_TARGET names. Compiled
// with ADAPTAG_REPLAY it needs no libFuzzer and runs the files that it is given, TARGET FILE ….
#include "errors.hpp"
#include "input.hpp"

namespace {

using adaptag::fuzz::Input;

struct Target {
  std::string_view name;
  void (*run)(Input);
};

constexpr Target targets[] = {
    {"core-columns", adaptag::fuzz::columns},     {"core-attributes", adaptag::fuzz::attributes},
    {"core-text", adaptag::fuzz::text},           {"core-lexicon", adaptag::fuzz::lexicon},
    {"core-index", adaptag::fuzz::index},         {"core-compact", adaptag::fuzz::compact},
    {"core-predictor", adaptag::fuzz::predictor}, {"core-lattice", adaptag::fuzz::lattice},
    {"core-dataset", adaptag::fuzz::dataset},
};

const Target& named(const char* name) {
  for (const Target& target : targets)
    if (name && target.name == name) return target;
  std::fprintf(stderr, "unknown target %s\n", name ? name : "(none)");
  std::exit(2);
}

void run(const Target& target, std::span<const uint8_t> data) { target.run(Input(data)); }

}  // namespace

#ifdef ADAPTAG_REPLAY

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const Target& target = named(argv[1]);
  for (int k = 2; k < argc; ++k) {
    std::FILE* const file = std::fopen(argv[k], "rb");
    if (!file) return 2;
    std::vector<uint8_t> data;
    for (int c; (c = std::fgetc(file)) != EOF;) data.push_back(uint8_t(c));
    std::fclose(file);
    data.shrink_to_fit();
    run(target, data);
  }
}

#else

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Target& target = named(std::getenv("ADAPTAG_FUZZ_TARGET"));
  run(target, {data, size});
  return 0;
}

#endif
