// Sizes of inputs that have one name. A name says that the sizes are equal, and where a node relies on that, it holds.
// Sizes of one name may differ between inputs in three cases: no node reads what is computed from both inputs; a Concat
// joins the inputs along that axis; or only a branch of an If reads both. For example, decoders that are merged into
// one model get keys of length 0 for the branch that is not taken.
#ifndef VX_FRONTEND_ONNX_SHAREDSIZES_H
#define VX_FRONTEND_ONNX_SHAREDSIZES_H

#include "NodeImporter.h"

namespace vx::onnx {

/// Groups of inputs, by their places in the graph, whose equal names are one size each; 0 is that of most of them.
/// Inputs are of one group where a node outside of the branches of Ifs reads what is computed from both, but for a
/// Concat along an axis that has one name in both. What nothing reads is a group by itself.
llvm::SmallVector<unsigned> groupInputs(const GraphProto &graph);

/// Where the node reads sizes of several groups that have one name, the call is to check that they are equal, and the
/// node reads one of them.
void joinSharedSizes(NodeImporter &n);

} // namespace vx::onnx

#endif
