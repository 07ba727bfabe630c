// Links with runtime/lib/base/fmt_definitions.cpp where that fits the version of fmt (cmake/VxFmt.cmake).
#include <fmt/ranges.h>

#include <cstdio>
#include <vector>

int main(int argc, char **argv) {
  std::vector<int> list(static_cast<size_t>(argc), argc);
  std::string text = fmt::format("{} {:.3g} {:>9.2f} {:#x} {:>8} {}", fmt::join(list, ", "), argc / 3.0, argc / 3.0F,
                                 argc, argv[0], argc != 1);
  std::puts(text.c_str());
}
