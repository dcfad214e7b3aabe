// Numbers that are written as text.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>
#if !defined(__cpp_lib_to_chars)  // libc++ before version 20 has none for floating point
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <string>
#if defined(__APPLE__)
#include <xlocale.h>
#else
#include <locale.h>
#endif
#endif

namespace adaptag {

// Reads the whole text as a number, whatever the locale; false where it is none, or out of range.
inline bool parse_number(std::string_view text, double& value) {
#if defined(__cpp_lib_to_chars)
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end;
#else
  // strtod takes more than from_chars: leading spaces, a plus sign, and hexadecimal digits.
  constexpr std::string_view first = "-.0123456789iInN";
  if (text.empty() || first.find(text[0]) == first.npos) return false;
  if (text.find_first_of("xX") != text.npos) return false;
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string terminated(text);
  char* rest = nullptr;
  errno = 0;
  value = strtod_l(terminated.c_str(), &rest, c_locale);
  return errno == 0 && rest == terminated.c_str() + terminated.size();
#endif
}

}  // namespace adaptag
