// The imported ops, with their versions and functions.
#ifndef VX_FRONTEND_ONNX_OPTABLE_H
#define VX_FRONTEND_ONNX_OPTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace vx::onnx {

/// The domain of training ops, and its newest known version.
constexpr llvm::StringLiteral trainingDomain = "ai.onnx.preview.training";
constexpr int64_t newestTrainingOpset = 1;
/// The domain of machine learning without networks, and its newest known version.
constexpr llvm::StringLiteral mlDomain = "ai.onnx.ml";
constexpr int64_t newestMlOpset = 5;
/// The domain of ops that may become a part of ONNX, and its newest known version.
constexpr llvm::StringLiteral previewDomain = "ai.onnx.preview";
constexpr int64_t newestPreviewOpset = 1;
/// The domain of the ops that ONNX Runtime writes when it optimizes or quantizes a model, and its one version.
constexpr llvm::StringLiteral microsoftDomain = "com.microsoft";
constexpr int64_t newestMicrosoftOpset = 1;
/// The domain of ops that recorded graphs have and ONNX does not (ImportRecorded.cpp). No file may use it.
constexpr llvm::StringLiteral builderDomain = "vx.builder";
constexpr int64_t newestBuilderOpset = 1;

class NodeImporter;
using ImportFunction = void (*)(NodeImporter &);

/// A line of the table at the end of a file Import*.cpp, sorted by name: `function` imports op `name` of the versions
/// `first` to `last`. `first` is the oldest version with a form that the function reads. The extra attribute of version
/// 1 of the activations (`consumed_inputs`) is not read. A later version that changes an op's meaning has a line of its
/// own. OpSignatures.inc has the constraints of each version on a node.
struct OpTableEntry {
  llvm::StringLiteral name;
  int64_t first, last;
  ImportFunction function;
};

// The tables at the ends of the files Import*.cpp.
extern const llvm::ArrayRef<OpTableEntry> activationsOps, arithmeticOps, attentionOps, constantsOps, contractionsOps,
    controlFlowOps, ifOps, indexingOps, normsOps, quantizationOps, recurrentOps, reductionsOps, resizeOps, sequencesOps,
    shapesOps, slicesOps, windowsOps, cumulativeOps, diagonalsOps, einsumOps, lossesOps, samplingOps,
    windowFunctionsOps, ngramsOps, stringsOps, causalConvOps, determinantOps, fourierOps, hyperbolicsOps, optionalsOps,
    randomsOps, nonMaxSuppressionOps, sortingOps, unpoolingOps, imagesOps;
// Tables of other domains: of machine learning without networks, of preview ops, of training, and of recorded graphs.
extern const llvm::ArrayRef<OpTableEntry> featuresOps, linearModelsOps, supportVectorsOps, treeModelsOps, treesOps,
    flexAttentionOps, trainingOps, optimizersOps, recordedOps;
// Tables of ONNX Runtime's domain. Each of its ops is composed of ops that other nodes are imported as.
extern const llvm::ArrayRef<OpTableEntry> fusedActivationsOps, fusedAttentionOps, fusedNormsOps, fusedProductsOps,
    groupedAttentionOps, packedWeightsOps, quantizedElementsOps, quantizedRecurrentOps;
// An op that ONNX Runtime writes into the default domain.
extern const llvm::ArrayRef<OpTableEntry> simplifiedNormsOps;

struct OpLookup {
  /// Null if the op is unknown, or known in other versions only.
  ImportFunction function = nullptr;
  bool isKnown = false;
  /// The imported versions, if the op is known.
  int64_t first = 0, last = 0;
};

/// Returns the empty name for "ai.onnx", another spelling of the default domain.
llvm::StringRef normalizeDomain(llvm::StringRef domain);
/// Returns the name of a normalized domain for messages.
llvm::StringRef spellDomain(llvm::StringRef domain);
/// Returns true for the default domain, which is empty, and for the domains above.
bool isKnownDomain(llvm::StringRef domain);
OpLookup findOp(llvm::StringRef domain, llvm::StringRef name, int64_t version);

} // namespace vx::onnx

#endif
