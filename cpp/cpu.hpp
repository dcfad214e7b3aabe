// Which variants of the core this processor can run.
#pragma once

#include <string>
#include <vector>

// The names of the variants, best first; "generic" runs everywhere.
inline std::vector<std::string> supported_variants() {
  std::vector<std::string> variants;
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
  if (v4) variants.emplace_back("x86_64_v4");
  if (v3) variants.emplace_back("x86_64_v3");
  if (v2) variants.emplace_back("x86_64_v2");
#endif
  variants.emplace_back("generic");
  return variants;
}
