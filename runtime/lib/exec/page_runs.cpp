#include "exec/page_runs.h"

#include <algorithm>
#include <unistd.h>

namespace vx {

static std::span<const uint8_t> bytesOf(const Module &module, size_t constant) {
  const Constant &source = module.data().constants[constant];
  return module.data().sections[source.section].bytes.subspan(source.offset, source.size);
}

std::string_view whyNotInPlace(const Module &module, size_t constant) {
  const std::span<const uint8_t> bytes = bytesOf(module, constant);
  if (!module.isMapped(bytes))
    return "the module was loaded from memory";
  if (reinterpret_cast<uintptr_t>(bytes.data()) % VX_BUFFER_ALIGNMENT != 0)
    return "the file has them at addresses that kernels do not take";
  return {};
}

std::vector<PageRun> findPageRuns(const Module &module, const std::vector<bool> &wanted, uint64_t most) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  std::vector<size_t> order;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] && module.data().constants[i].size > 0 && whyNotInPlace(module, i).empty())
      order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return bytesOf(module, a).data() < bytesOf(module, b).data(); });
  std::vector<PageRun> runs;
  for (size_t index : order) {
    const std::span<const uint8_t> bytes = bytesOf(module, index);
    const auto first = reinterpret_cast<uintptr_t>(bytes.data());
    const uintptr_t begin = first / page * page, end = (first + bytes.size() + page - 1) / page * page;
    const auto last = runs.empty() ? 0 : reinterpret_cast<uintptr_t>(runs.back().begin) + runs.back().size;
    const auto start = runs.empty() ? 0 : reinterpret_cast<uintptr_t>(runs.back().begin);
    if (runs.empty() || begin > last || std::max(end, last) - start > most) {
      runs.push_back({reinterpret_cast<const uint8_t *>(begin), end - begin, {index}});
      continue;
    }
    runs.back().size = std::max(end, last) - start;
    runs.back().constants.push_back(index);
  }
  return runs;
}

} // namespace vx
