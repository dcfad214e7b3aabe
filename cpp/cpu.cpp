// Which builds of the core this processor can run; asked once, at import.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

// The names of the core's builds, best first; "generic" runs everywhere.
static std::vector<std::string> supported_builds() {
  std::vector<std::string> builds;
#if defined(__x86_64__) && !defined(__APPLE__)
  __builtin_cpu_init();
  // __builtin_cpu_supports("x86-64-vN") needs GCC 11 or clang 18; the features that
  // define each level are known to older compilers too.
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") &&
                  __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4) builds.emplace_back("x86_64_v4");
  if (v3) builds.emplace_back("x86_64_v3");
  if (v2) builds.emplace_back("x86_64_v2");
#endif
  builds.emplace_back("generic");
  return builds;
}

NB_MODULE(cpu, m) { m.def("supported_builds", &supported_builds); }
