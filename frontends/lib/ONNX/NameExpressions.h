// Long expressions of sizes become symbols that the program binds, so that what is made of them stays short.
#ifndef VX_FRONTEND_ONNX_NAMEEXPRESSIONS_H
#define VX_FRONTEND_ONNX_NAMEEXPRESSIONS_H

#include "NodeImporter.h"

namespace vx::onnx {

/// Whether the node reads sizes or known elements that are to have names before it: what is computed of them step by
/// step would become longer and longer, and take kernels of its own at each step.
bool readsLongExpressions(NodeImporter &n);

/// Gives names to the long sizes and known elements of what the node reads, for all nodes behind it as well. Equal
/// expressions have one name.
void nameLongExpressions(NodeImporter &n);

} // namespace vx::onnx

#endif
