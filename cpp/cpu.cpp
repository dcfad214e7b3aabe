// The module that is imported first, on any processor, and says which variants of the core it runs.
#include "cpu.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

NB_MODULE(cpu, m) { m.def("supported_variants", &supported_variants); }
