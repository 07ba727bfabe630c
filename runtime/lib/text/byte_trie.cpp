#include "text/byte_trie.h"

#include <algorithm>

namespace vx::text {

namespace {

struct Range {
  uint32_t node;
  size_t begin, end, depth; // keys that have their first `depth` bytes in common
};

/// How many places are looked at before the children of a node go to the end of the array.
constexpr int tries = 64;

} // namespace

ByteTrie::ByteTrie(std::vector<std::pair<std::string, int32_t>> keys) {
  std::sort(keys.begin(), keys.end());
  // Node 0 is none and node 1 the root; a node whose parent is 0 is free.
  std::vector<bool> isUsed(2, true);
  size_t firstFree = 2;
  std::vector<Range> open = {{root, 0, keys.size(), 0}};
  std::vector<std::pair<unsigned char, size_t>> children; // a byte, and where its keys begin
  while (!open.empty()) {
    const Range range = open.back();
    open.pop_back();
    children.clear();
    size_t at = range.begin;
    for (; at < range.end && keys[at].first.size() == range.depth; ++at)
      if (range.depth > 0)
        nodes[range.node].number = keys[at].second;
    for (; at < range.end; ++at) {
      const auto byte = static_cast<unsigned char>(keys[at].first[range.depth]);
      if (children.empty() || children.back().first != byte)
        children.emplace_back(byte, at);
    }
    if (children.empty())
      continue;
    while (firstFree < isUsed.size() && isUsed[firstFree])
      ++firstFree;
    // The first place where all of them fit.
    const unsigned char first = children.front().first;
    size_t base = 0;
    bool fits = false;
    int tried = 0;
    for (size_t place = std::max<size_t>(firstFree, size_t(first) + 1); !fits; ++place) {
      if (++tried > tries) {
        // What is free before is left so: it would be looked through again for each node.
        firstFree = std::max(firstFree, std::min(place, isUsed.size()));
        place = std::max<size_t>(isUsed.size(), size_t(first) + 1);
      }
      if (place < isUsed.size() && isUsed[place])
        continue;
      base = place - first;
      fits = std::all_of(children.begin(), children.end(), [&](const auto &child) {
        return base + child.first >= isUsed.size() || !isUsed[base + child.first];
      });
    }
    const size_t wanted = base + children.back().first + 1;
    if (wanted > nodes.size()) {
      nodes.resize(wanted);
      isUsed.resize(wanted, false);
    }
    nodes[range.node].base = static_cast<uint32_t>(base);
    for (size_t i = 0; i < children.size(); ++i) {
      const size_t node = base + children[i].first;
      isUsed[node] = true;
      nodes[node].parent = range.node;
      const size_t end = i + 1 < children.size() ? children[i + 1].second : range.end;
      open.push_back({static_cast<uint32_t>(node), children[i].second, end, range.depth + 1});
    }
  }
}

} // namespace vx::text
