#include "vx/Dialect/VX/IR/SourceLocation.h"

#include "mlir/IR/Location.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx {

Location getSourceLocation(MLIRContext *context, StringRef node, StringRef opType, StringRef file, unsigned line) {
  context->getOrLoadDialect<VXDialect>();
  auto source = SourceAttr::get(context, StringAttr::get(context, node), StringAttr::get(context, opType),
                                StringAttr::get(context, file));
  return FusedLoc::get(context, {FileLineColLoc::get(context, file, line, 0)}, source);
}

static void append(SmallVector<std::string> &nodes, std::string node) {
  if (!llvm::is_contained(nodes, node))
    nodes.push_back(std::move(node));
}

static void collect(Location location, SmallVector<std::string> &nodes) {
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    if (auto source = dyn_cast_or_null<SourceAttr>(fused.getMetadata())) {
      std::string node = (source.getNode().getValue() + " (" + source.getOpType().getValue()).str();
      auto place =
          fused.getLocations().empty() ? FileLineColLoc() : dyn_cast<FileLineColLoc>(fused.getLocations().front());
      if (place && place.getLine() > 0)
        node += (", " + place.getFilename().getValue() + ":" + Twine(place.getLine())).str();
      append(nodes, node + ")");
      return;
    }
    for (Location inner : fused.getLocations())
      collect(inner, nodes);
  } else if (auto name = dyn_cast<NameLoc>(location)) {
    collect(name.getChildLoc(), nodes);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collect(call.getCallee(), nodes);
  } else if (auto file = dyn_cast<FileLineColLoc>(location)) {
    append(nodes, (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str());
  }
}

SmallVector<std::string> getSourceNodes(Location location) {
  SmallVector<std::string> nodes;
  collect(location, nodes);
  return nodes;
}

std::string describeSource(Location location) {
  SmallVector<std::string> nodes = getSourceNodes(location);
  return nodes.empty() ? "an unnamed node" : llvm::join(nodes, ", ");
}

} // namespace vx
