// Which values a node reads, and in which order the nodes of a graph make them.
#ifndef VX_FRONTEND_ONNX_NODEORDER_H
#define VX_FRONTEND_ONNX_NODEORDER_H

#include "onnx_wire.pb.h"
#include "llvm/ADT/SetVector.h"

namespace vx::onnx {

using ReadNames = llvm::SetVector<llvm::StringRef>;

/// Adds the names of the values around a node that it reads, also in its graphs, in their order. The names live as long
/// as the node.
void collectReads(const NodeProto &node, ReadNames &reads);

} // namespace vx::onnx

#endif
