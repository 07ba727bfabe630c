// Images: the host decodes a file's bytes.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

static void importImageDecoder(NodeImporter &n) {
  Value file = n.getTensor(0);
  if (typeOf(file).getRank() != 1 || !elementOf(file).isUnsignedInteger(8))
    throwInvalid("expects a list of u8 as input 0, got " + describe(file.getType()));
  std::string order = n.getString("pixel_format", "RGB");
  if (order != "RGB" && order != "BGR" && order != "Grayscale")
    throwInvalid("expects 'pixel_format' to be RGB, BGR or Grayscale, got '" + Twine(order) + "'");
  StringRef name = n.wantsOutput(0) ? StringRef(n.proto.output(0)) : n.label;
  Type image =
      makeTensorType({n.model.declareSize(name, 0), n.model.declareSize(name, 1), n.dim(order == "Grayscale" ? 1 : 3)},
                     elementOf(file));
  n.setOutput(0, emitHost(n, HostFunctionKind::image_decode, file, image, order)[0]);
}

static constexpr OpTableEntry imagesTable[] = {
    {"ImageDecoder", 20, newestOpset, importImageDecoder},
};
const llvm::ArrayRef<OpTableEntry> imagesOps = imagesTable;

} // namespace vx::onnx
