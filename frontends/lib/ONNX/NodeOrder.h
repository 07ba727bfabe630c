// The values that a node reads, and the order of nodes in a graph.
#ifndef VX_FRONTEND_ONNX_NODEORDER_H
#define VX_FRONTEND_ONNX_NODEORDER_H

#include "onnx_wire.pb.h"
#include "llvm/ADT/SetVector.h"

namespace vx::onnx {

using ReadNames = llvm::SetVector<llvm::StringRef>;

/// Adds the names of the outer values that a node reads, also in its subgraphs, in their order. The names are valid as
/// long as the node.
void collectReads(const NodeProto &node, ReadNames &reads);

} // namespace vx::onnx

#endif
