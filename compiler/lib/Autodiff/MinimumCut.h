// The cheapest nodes of a graph that part its beginnings from its ends.
#ifndef VX_LIB_AUTODIFF_MINIMUMCUT_H
#define VX_LIB_AUTODIFF_MINIMUMCUT_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace vx {

/// Nodes that cost something to cut, and edges that cannot be cut. Dinic's algorithm, of nodes that are two each.
class MinimumCut {
public:
  /// Of a node that cannot be cut.
  static constexpr uint64_t kNever = UINT64_MAX / 4;

  /// Gives the number of a node that costs so much, at most `kNever`.
  unsigned addNode(uint64_t cost);
  void addEdge(unsigned from, unsigned to) { connect(leave(from), enter(to), kNever); }
  /// Paths begin in front of this node, so it may be cut itself.
  void addBeginning(unsigned node) { connect(kSource, enter(node), kNever); }
  /// Paths end behind this node.
  void addEnd(unsigned node) { connect(leave(node), kSink, kNever); }

  /// Cuts every path from a beginning to an end, of all the cheapest ways by the nodes nearest to the ends. Gives their
  /// numbers, increasing; nothing where some path has no node that can be cut.
  std::optional<llvm::SmallVector<unsigned>> run();

private:
  static constexpr unsigned kSource = 0, kSink = 1;
  struct Edge {
    unsigned to;
    uint64_t room;
  };

  static unsigned enter(unsigned node) { return 2 + 2 * node; }
  static unsigned leave(unsigned node) { return 3 + 2 * node; }
  void connect(unsigned from, unsigned to, uint64_t room);
  bool layer();
  uint64_t push(uint64_t most);

  // An edge and the one back are neighbours: that of number e is against that of number e ^ 1.
  llvm::SmallVector<Edge> edges;
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>> outgoing{2};
  llvm::SmallVector<unsigned> levels, next;
  unsigned numNodes = 0;
};

} // namespace vx

#endif
