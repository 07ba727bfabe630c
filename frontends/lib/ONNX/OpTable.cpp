#include "OpTable.h"

#include "OpFunctions.h"

namespace vx::onnx {

static const llvm::ArrayRef<OpTableEntry> *const tables[] = {
    &activationsOps,  &arithmeticOps,      &attentionOps,
    &constantsOps,    &contractionsOps,    &controlFlowOps,
    &ifOps,           &indexingOps,        &normsOps,
    &quantizationOps, &recurrentOps,       &reductionsOps,
    &resizeOps,       &sequencesOps,       &shapesOps,
    &slicesOps,       &windowsOps,         &cumulativeOps,
    &diagonalsOps,    &einsumOps,          &lossesOps,
    &samplingOps,     &windowFunctionsOps, &ngramsOps,
    &stringsOps,      &causalConvOps,      &fourierOps,
    &hyperbolicsOps,  &optionalsOps,       &randomsOps,
    &determinantOps,  &unpoolingOps,       &nonMaxSuppressionOps,
    &sortingOps,      &imagesOps,          &simplifiedNormsOps};
static const llvm::ArrayRef<OpTableEntry> *const mlTables[] = {&featuresOps, &linearModelsOps, &supportVectorsOps,
                                                               &treeModelsOps, &treesOps};
static const llvm::ArrayRef<OpTableEntry> *const previewTables[] = {&flexAttentionOps};
static const llvm::ArrayRef<OpTableEntry> *const trainingTables[] = {&trainingOps, &optimizersOps};
static const llvm::ArrayRef<OpTableEntry> *const microsoftTables[] = {
    &fusedActivationsOps, &fusedAttentionOps, &fusedNormsOps,        &fusedProductsOps,
    &groupedAttentionOps, &packedWeightsOps,  &quantizedElementsOps, &quantizedRecurrentOps};
static const llvm::ArrayRef<OpTableEntry> *const builderTables[] = {&recordedOps};

llvm::StringRef normalizeDomain(llvm::StringRef domain) { return domain == "ai.onnx" ? llvm::StringRef() : domain; }
llvm::StringRef spellDomain(llvm::StringRef domain) { return domain.empty() ? llvm::StringRef("ai.onnx") : domain; }

bool isKnownDomain(llvm::StringRef domain) {
  return domain.empty() || domain == mlDomain || domain == previewDomain || domain == trainingDomain ||
         domain == microsoftDomain || domain == builderDomain;
}

OpLookup findOp(llvm::StringRef domain, llvm::StringRef name, int64_t version) {
  OpLookup lookup;
  llvm::ArrayRef<const llvm::ArrayRef<OpTableEntry> *> ofDomain = tables;
  if (domain == mlDomain)
    ofDomain = mlTables;
  else if (domain == previewDomain)
    ofDomain = previewTables;
  else if (domain == trainingDomain)
    ofDomain = trainingTables;
  else if (domain == microsoftDomain)
    ofDomain = microsoftTables;
  else if (domain == builderDomain)
    ofDomain = builderTables;
  for (const llvm::ArrayRef<OpTableEntry> *table : ofDomain)
    for (const OpTableEntry &entry : *table) {
      if (entry.name != name)
        continue;
      lookup.first = lookup.isKnown ? std::min(lookup.first, entry.first) : entry.first;
      lookup.last = lookup.isKnown ? std::max(lookup.last, entry.last) : entry.last;
      lookup.isKnown = true;
      if (version >= entry.first && version <= entry.last)
        lookup.function = entry.function;
    }
  return lookup;
}

void importAs(NodeImporter &n, llvm::StringRef op, int64_t version) {
  NodeImporter other(n.model, n.proto, version, n.location, n.label);
  findOp("", op, version).function(other);
}

} // namespace vx::onnx
