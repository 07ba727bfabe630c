// A set of byte strings with numbers, walked byte by byte: a double array.
#ifndef VX_TEXT_BYTE_TRIE_H
#define VX_TEXT_BYTE_TRIE_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace vx::text {

class ByteTrie {
public:
  static constexpr uint32_t root = 1, none = 0;

  ByteTrie() = default;
  // Of equal keys the largest number holds. Empty ones are left out.
  explicit ByteTrie(std::vector<std::pair<std::string, int32_t>> keys);

  // The node behind `node` by a byte, or `none`.
  uint32_t step(uint32_t node, unsigned char byte) const {
    const size_t at = size_t(nodes[node].base) + byte;
    return at < nodes.size() && nodes[at].parent == node ? static_cast<uint32_t>(at) : none;
  }
  // The number of the key that ends there, or -1.
  int32_t number(uint32_t node) const { return nodes[node].number; }

private:
  struct Node {
    uint32_t base = 0, parent = 0;
    int32_t number = -1;
  };
  std::vector<Node> nodes = std::vector<Node>(2);
};

} // namespace vx::text

#endif
