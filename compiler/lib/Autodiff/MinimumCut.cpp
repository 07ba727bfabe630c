#include "MinimumCut.h"

#include "llvm/ADT/BitVector.h"
#include <algorithm>

namespace vx {

unsigned MinimumCut::addNode(uint64_t cost) {
  outgoing.resize(outgoing.size() + 2);
  connect(enter(numNodes), leave(numNodes), std::min(cost, kNever));
  return numNodes++;
}

void MinimumCut::connect(unsigned from, unsigned to, uint64_t room) {
  outgoing[from].push_back(edges.size());
  edges.push_back({to, room});
  outgoing[to].push_back(edges.size());
  edges.push_back({from, 0});
}

/// How far each place is from the source by edges with room; false where the sink is not reached.
bool MinimumCut::layer() {
  levels.assign(outgoing.size(), UINT32_MAX);
  levels[kSource] = 0;
  llvm::SmallVector<unsigned> reached = {kSource};
  for (unsigned i = 0; i < reached.size(); ++i)
    for (unsigned edge : outgoing[reached[i]])
      if (unsigned to = edges[edge].to; edges[edge].room > 0 && levels[to] == UINT32_MAX) {
        levels[to] = levels[reached[i]] + 1;
        reached.push_back(to);
      }
  return levels[kSink] != UINT32_MAX;
}

/// One more path from the source to the sink, each place nearer to it; how much goes along it, 0 for no path. A chain
/// of ops may be longer than a stack of calls.
uint64_t MinimumCut::push(uint64_t most) {
  llvm::SmallVector<unsigned> path; // edges
  unsigned place = kSource;
  while (place != kSink) {
    unsigned &index = next[place];
    if (index == outgoing[place].size()) {
      if (path.empty())
        return 0;
      place = edges[path.pop_back_val() ^ 1].to;
      ++next[place];
      continue;
    }
    unsigned edge = outgoing[place][index];
    if (edges[edge].room > 0 && levels[edges[edge].to] == levels[place] + 1) {
      path.push_back(edge);
      place = edges[edge].to;
    } else {
      ++index;
    }
  }
  for (unsigned edge : path)
    most = std::min(most, edges[edge].room);
  for (unsigned edge : path) {
    edges[edge].room -= most;
    edges[edge ^ 1].room += most;
  }
  return most;
}

std::optional<llvm::SmallVector<unsigned>> MinimumCut::run() {
  uint64_t flow = 0;
  while (layer()) {
    next.assign(outgoing.size(), 0);
    while (uint64_t more = push(kNever))
      if ((flow += more) >= kNever)
        return std::nullopt;
  }
  // What still reaches the sink.
  llvm::BitVector reaches(outgoing.size());
  llvm::SmallVector<unsigned> work = {kSink};
  reaches.set(kSink);
  while (!work.empty())
    for (unsigned edge : outgoing[work.pop_back_val()])
      if (unsigned from = edges[edge].to; edges[edge ^ 1].room > 0 && !reaches[from]) {
        reaches.set(from);
        work.push_back(from);
      }
  llvm::SmallVector<unsigned> cut;
  for (unsigned node = 0; node < numNodes; ++node)
    if (!reaches[enter(node)] && reaches[leave(node)])
      cut.push_back(node);
  return cut;
}

} // namespace vx
