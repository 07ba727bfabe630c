// Names long expressions of sizes by symbols that the program binds, so that expressions over them stay short.
#ifndef VX_FRONTEND_ONNX_NAMEEXPRESSIONS_H
#define VX_FRONTEND_ONNX_NAMEEXPRESSIONS_H

#include "NodeImporter.h"

namespace vx::onnx {

/// Returns true if the node reads sizes or known elements that need names first. Otherwise expressions that are
/// computed step by step would grow with each step, and each step would need a kernel of its own.
bool readsLongExpressions(NodeImporter &n);

/// Names the long sizes and known elements that the node reads, also for all later nodes. Equal expressions have one
/// name.
void nameLongExpressions(NodeImporter &n);

} // namespace vx::onnx

#endif
