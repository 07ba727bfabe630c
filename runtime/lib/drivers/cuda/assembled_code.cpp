#include "assembled_code.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace vx::cuda {

std::vector<std::vector<uint32_t>> shareKernels(std::span<const hal::KernelImage> kernels, uint32_t count) {
  std::vector<uint32_t> order(kernels.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(kernels[b].code.size(), a) < std::pair(kernels[a].code.size(), b);
  });
  std::vector<std::vector<uint32_t>> parts(std::min<size_t>(std::max(count, 1U), kernels.size()));
  std::vector<uint64_t> sizes(parts.size());
  for (uint32_t kernel : order) {
    const auto shortest = static_cast<size_t>(std::min_element(sizes.begin(), sizes.end()) - sizes.begin());
    parts[shortest].push_back(kernel);
    sizes[shortest] += std::max<uint64_t>(kernels[kernel].code.size(), 1);
  }
  for (std::vector<uint32_t> &part : parts)
    std::sort(part.begin(), part.end());
  return parts;
}

//===-- The file ------------------------------------------------------------------------------===//

// A part is its number of kernels, their numbers, its size and its bytes. All numbers have 8 bytes.
std::vector<uint8_t> packParts(std::span<const AssembledPart> parts) {
  std::vector<uint8_t> bytes;
  auto add = [&](uint64_t number) {
    const auto *data = reinterpret_cast<const uint8_t *>(&number);
    bytes.insert(bytes.end(), data, data + sizeof(number));
  };
  for (const AssembledPart &part : parts) {
    add(part.kernels.size());
    for (uint32_t kernel : part.kernels)
      add(kernel);
    add(part.cubin.size());
    bytes.insert(bytes.end(), part.cubin.begin(), part.cubin.end());
  }
  return bytes;
}

std::optional<std::vector<AssembledPart>> unpackParts(std::span<const uint8_t> bytes, size_t kernels) {
  auto take = [&](uint64_t &number) {
    if (bytes.size() < sizeof(number))
      return false;
    std::memcpy(&number, bytes.data(), sizeof(number));
    bytes = bytes.subspan(sizeof(number));
    return true;
  };
  std::vector<bool> found(kernels);
  size_t count = 0;
  std::vector<AssembledPart> parts;
  while (!bytes.empty()) {
    AssembledPart &part = parts.emplace_back();
    uint64_t number = 0, size = 0;
    if (!take(number) || number > kernels)
      return std::nullopt;
    for (uint64_t i = 0; i < number; ++i) {
      uint64_t kernel = 0;
      if (!take(kernel) || kernel >= kernels || found[kernel])
        return std::nullopt;
      found[kernel] = true;
      ++count;
      part.kernels.push_back(static_cast<uint32_t>(kernel));
    }
    if (!take(size) || size > bytes.size())
      return std::nullopt;
    part.cubin.assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    bytes = bytes.subspan(size);
  }
  if (count != kernels)
    return std::nullopt;
  return parts;
}

//===-- The log -------------------------------------------------------------------------------===//

static std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

static bool isDigit(char letter) { return letter >= '0' && letter <= '9'; }

// "C7510"
static bool hasAdvice(std::string_view line) {
  for (size_t at = line.find("C75"); at != std::string_view::npos; at = line.find("C75", at + 1))
    if (at + 4 < line.size() && isDigit(line[at + 3]) && isDigit(line[at + 4]) &&
        (at + 5 == line.size() || !isDigit(line[at + 5])))
      return true;
  return false;
}

// "8 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads"
static bool spills(std::string_view line) {
  for (std::string_view what : {" bytes spill stores", " bytes spill loads"}) {
    const size_t at = line.find(what);
    if (at == std::string_view::npos)
      continue;
    size_t begin = at;
    while (begin > 0 && isDigit(line[begin - 1]))
      --begin;
    if (line.substr(begin, at - begin).find_first_not_of('0') != std::string_view::npos)
      return true;
  }
  return false;
}

std::vector<CodeFinding> findingsOf(std::string_view log) {
  std::vector<CodeFinding> findings;
  std::string entry;
  while (!log.empty()) {
    const size_t end = log.find_first_of(std::string_view("\n\0", 2));
    const std::string_view line = trimmed(log.substr(0, end));
    log = end == std::string_view::npos || log[end] == '\0' ? std::string_view() : log.substr(end + 1);
    for (auto [before, after] : {std::pair("entry function '", '\''),
                                 {"Function properties for ", '\0'},
                                 {"in function '", '\''},
                                 {"in the function '", '\''}})
      if (const size_t at = line.find(before); at != std::string_view::npos) {
        const std::string_view rest = line.substr(at + std::strlen(before));
        entry = trimmed(after ? rest.substr(0, rest.find(after)) : rest);
      }
    if (hasAdvice(line) || spills(line))
      findings.push_back({entry, std::string(line)});
  }
  return findings;
}

} // namespace vx::cuda
