// Sizes of inputs with one name. The name means that the sizes are equal, and the call checks this where a node relies
// on it. Sizes of one name may differ between inputs if no node needs them to be equal. There are several such cases.
// No node reads values that are computed from both inputs, or only a branch of an If does. A Concat joins the inputs
// along that axis. A product has one size as its rows and the other as its columns. A Gather reads one input by the
// indices of the other. For example, decoders that are merged into one model get keys of length 0 for the branch that
// is not executed.
#ifndef VX_FRONTEND_ONNX_SHAREDSIZES_H
#define VX_FRONTEND_ONNX_SHAREDSIZES_H

#include "NodeImporter.h"

namespace vx::onnx {

/// For each input, the group of each of its names; 0 by default, which is the group of most sizes. Sizes of one name
/// and one group are one size. A node outside of the branches of Ifs merges the groups of the sizes of one name that it
/// compares. If these are not known, it merges all sizes of the inputs that its operands are computed from. Sizes of an
/// input that nothing reads have groups of their own.
using SizeGroups = llvm::SmallVector<llvm::StringMap<unsigned>>;
SizeGroups groupSizes(const GraphProto &graph);

/// If the node compares sizes of several groups with one name, adds a check to the call that they are equal, and
/// replaces them by one of them for the node.
void joinSharedSizes(NodeImporter &n);

} // namespace vx::onnx

#endif
