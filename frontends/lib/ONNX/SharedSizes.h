// Sizes of inputs that have one name. A name says that the sizes are equal, and where a node relies on that, it holds.
// Sizes of one name may differ between inputs where no node needs them to be equal. No node reads what is computed from
// both inputs, or only a branch of an If does. A Concat joins the inputs along that axis. A product has one of them as
// its rows and the other one as its columns. A Gather reads one input by the indices of the other. For example,
// decoders that are merged into one model get keys of length 0 for the branch that is not taken.
#ifndef VX_FRONTEND_ONNX_SHAREDSIZES_H
#define VX_FRONTEND_ONNX_SHAREDSIZES_H

#include "NodeImporter.h"

namespace vx::onnx {

/// For each input, the group of each of its names; 0 where none is given. Sizes of one name and one group are one size,
/// and 0 is the group of most of them. A node outside of the branches of Ifs joins the sizes of one name that it
/// compares, and all of the inputs from which its operands are computed where that is not known. The sizes of an input
/// that nothing reads are groups by themselves.
using SizeGroups = llvm::SmallVector<llvm::StringMap<unsigned>>;
SizeGroups groupSizes(const GraphProto &graph);

/// Where the node compares sizes of several groups that have one name, the call is to check that they are equal, and
/// the node reads one of them.
void joinSharedSizes(NodeImporter &n);

} // namespace vx::onnx

#endif
