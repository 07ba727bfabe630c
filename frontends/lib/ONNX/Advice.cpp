#include "Advice.h"

#include "OpTable.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

namespace vx::onnx {

/// The domains of ops that ONNX Runtime writes when it optimizes or quantizes a model.
static bool isOfOnnxRuntime(llvm::StringRef domain) {
  return domain == "com.microsoft" || domain.starts_with("com.microsoft.") || domain == "com.ms.internal.nhwc";
}

static std::string adviseOnOp(llvm::StringRef domain, llvm::StringRef op) {
  if (isOfOnnxRuntime(domain))
    return "export the model again without ONNX Runtime's fusions (optimum: without -O1 to -O4; onnxruntime: the model "
           "from before its optimizer), and quantize it as QuantizeLinear and DequantizeLinear "
           "(quant_format=QuantFormat.QDQ)";
  if (op == "SimplifiedLayerNormalization" || op == "SkipLayerNormalization" ||
      op == "SkipSimplifiedLayerNormalization")
    return "export the model again without ONNX Runtime's fusions (optimum: without -O1 to -O4; onnxruntime: the model "
           "from before its optimizer)";
  if (domain.empty() || isKnownDomain(normalizeDomain(domain)))
    return "export the model again with ops that docs/onnx-ops.md lists, or add the op to the model as a function of "
           "it";
  return "add the op to the model as a function of it (torch.onnx.export with dynamo=True writes such functions), or "
         "export the model again with ops of 'ai.onnx' in its place";
}

static std::string adviseOnVersion(llvm::StringRef domain, int64_t version) {
  const std::string number = std::to_string(version);
  if (version <= 0)
    return "export the model again with an older version (torch.onnx.export: opset_version; onnx.helper.make_model: "
           "ir_version)";
  if (!normalizeDomain(domain).empty())
    return (llvm::Twine("export the model again with version ") + number + " of domain '" + domain + "'").str();
  return "export the model again with opset " + number + " (torch.onnx.export: opset_version=" + number +
         "), or convert it (onnx.version_converter.convert_version(model, " + number + "))";
}

std::string describeAdvice(Advice advice, llvm::StringRef domain, llvm::StringRef op, int64_t version) {
  switch (advice) {
  case Advice::CheckModel:
    return "the model breaks a rule of ONNX: see what onnx.checker.check_model says, and export it again";
  case Advice::GiveModel:
    return "give the .onnx file that an exporter has written";
  case Advice::MoveWeights:
    return "export the model again with its weights in external data (onnx.save: save_as_external_data=True)";
  case Advice::RestoreData:
    return "put the files of the weights where they were beside the model when it was exported, or export it again "
           "into "
           "one file";
  case Advice::ReplaceOp:
    return adviseOnOp(domain, op);
  case Advice::ConvertVersion:
    return adviseOnVersion(domain, version);
  case Advice::StateShape:
    return "export the model again with the input's number of dimensions, whose sizes may have names, or state it "
           "(onnx.tools.update_model_dims)";
  case Advice::FixSizes:
    return "export the model again with fixed sizes (torch.onnx.export: without dynamic_shapes and dynamic_axes), or "
           "with what decides them as a constant";
  case Advice::SimplifySizes:
    return "export the model again with fixed sizes (torch.onnx.export: without dynamic_shapes and dynamic_axes), or "
           "let onnxsim compute what its sizes are made of";
  case Advice::StoreDense:
    return "export the model again with dense tensors, each stored whole";
  case Advice::SplitComplex:
    return "export the model again with the real and the imaginary part as the last dimension of 2, as ONNX's DFT and "
           "STFT have them";
  case Advice::CastElements:
    return "export the model again in another element type, or put a Cast before the node";
  case Advice::GiveTensors:
    return "export the model again with tensors in the place of maps (skl2onnx: options={'zipmap': False}; "
           "onnxmltools: "
           "zipmap=False)";
  case Advice::ChangeSetting:
    return "export the model again with a value that is taken";
  case Advice::ExportForInference:
    return "export the model again for inference (torch: model.eval(), and training=TrainingMode.EVAL), or train it "
           "with vx-train";
  case Advice::DropOutput:
    return "export the model again without the nodes that read this output";
  case Advice::SplitModel:
    return "export the model again in smaller parts, or with what is above the limit made smaller";
  }
  llvm_unreachable("all kinds of advice are described");
}

} // namespace vx::onnx
