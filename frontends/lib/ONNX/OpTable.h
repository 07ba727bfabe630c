// Which ops are imported, from which version of their domain on, and by which function.
#ifndef VX_FRONTEND_ONNX_OPTABLE_H
#define VX_FRONTEND_ONNX_OPTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace vx::onnx {

/// The domain of what trains, and its newest version that is known here.
constexpr llvm::StringLiteral trainingDomain = "ai.onnx.preview.training";
constexpr int64_t newestTrainingOpset = 1;
/// The domain of learning by other means than networks, and its newest version that is known here.
constexpr llvm::StringLiteral mlDomain = "ai.onnx.ml";
constexpr int64_t newestMlOpset = 5;
/// The domain of what may become ONNX's, and its newest version that is known here.
constexpr llvm::StringLiteral previewDomain = "ai.onnx.preview";
constexpr int64_t newestPreviewOpset = 1;
/// The domain of the ops that ONNX Runtime writes when it optimizes or quantizes a model, and its one version.
constexpr llvm::StringLiteral microsoftDomain = "com.microsoft";
constexpr int64_t newestMicrosoftOpset = 1;
/// The domain of what recorded graphs have and ONNX has not (ImportRecorded.cpp); no file's.
constexpr llvm::StringLiteral builderDomain = "vx.builder";
constexpr int64_t newestBuilderOpset = 1;

class NodeImporter;
using ImportFunction = void (*)(NodeImporter &);

/// A line of the table that a file Import*.cpp ends in, sorted by name: `function` imports op `name` of the versions
/// `first` to `last`. An op starts at the version whose form its function reads; what version 1 of the activations had
/// more (`consumed_inputs`) is not read. A later version that changes an op's meaning gets a line of its own. What a
/// version wants of a node is in OpSignatures.inc.
struct OpTableEntry {
  llvm::StringLiteral name;
  int64_t first, last;
  ImportFunction function;
};

// The tables that stand at the ends of the files Import*.cpp.
extern const llvm::ArrayRef<OpTableEntry> activationsOps, arithmeticOps, attentionOps, constantsOps, contractionsOps,
    controlFlowOps, ifOps, indexingOps, normsOps, quantizationOps, recurrentOps, reductionsOps, resizeOps, sequencesOps,
    shapesOps, slicesOps, windowsOps, cumulativeOps, diagonalsOps, einsumOps, lossesOps, samplingOps,
    windowFunctionsOps, ngramsOps, stringsOps, causalConvOps, determinantOps, fourierOps, hyperbolicsOps, optionalsOps,
    randomsOps, nonMaxSuppressionOps, sortingOps, unpoolingOps, imagesOps;
// Those of other domains: of learning by other means, of what is new, of what trains, and of what is recorded.
extern const llvm::ArrayRef<OpTableEntry> featuresOps, linearModelsOps, supportVectorsOps, treeModelsOps, treesOps,
    flexAttentionOps, trainingOps, optimizersOps, recordedOps;
// Those of ONNX Runtime's domain, each composed of the ops that others are imported as.
extern const llvm::ArrayRef<OpTableEntry> fusedActivationsOps, fusedAttentionOps, fusedNormsOps, fusedProductsOps,
    groupedAttentionOps, packedWeightsOps, quantizedElementsOps, quantizedRecurrentOps;
// An op that ONNX Runtime writes into the default domain.
extern const llvm::ArrayRef<OpTableEntry> simplifiedNormsOps;

struct OpLookup {
  /// Null when the op is unknown, or known in other versions only.
  ImportFunction function = nullptr;
  bool isKnown = false;
  /// The versions that are imported, when the op is known.
  int64_t first = 0, last = 0;
};

/// The empty name for "ai.onnx", another spelling of the default domain.
llvm::StringRef normalizeDomain(llvm::StringRef domain);
/// The name of a normalized domain in messages.
llvm::StringRef spellDomain(llvm::StringRef domain);
/// True for the default domain, which is empty, and for those above.
bool isKnownDomain(llvm::StringRef domain);
OpLookup findOp(llvm::StringRef domain, llvm::StringRef name, int64_t version);

} // namespace vx::onnx

#endif
