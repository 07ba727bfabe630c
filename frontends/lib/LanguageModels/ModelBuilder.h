// Building blocks of language models over GraphBuilder: a module with functions, weights by name, and layers.
#ifndef VX_LIB_LANGUAGEMODELS_MODELBUILDER_H
#define VX_LIB_LANGUAGEMODELS_MODELBUILDER_H

#include "WeightFiles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// A module of the phase import under construction. The first failure is kept. After it all functions return null
/// values, and the caller checks `hasFailed` at the end. Thread-compatible.
class ModelBuilder {
public:
  ModelBuilder(mlir::MLIRContext &context, const WeightFiles &weights, llvm::StringRef name);

  mlir::MLIRContext &context;
  mlir::OpBuilder builder;
  const WeightFiles &weights;

  enum class SymbolKind { Shape, Instance, Data };
  /// Declares a size; `name` is unique in the module.
  DimAttr declareSymbol(llvm::StringRef name, int64_t min, int64_t max, SymbolKind kind = SymbolKind::Shape);
  /// Declares a cache: a variable that starts as zeros. `dims` may have sizes of the instance.
  void declareCache(llvm::StringRef name, llvm::ArrayRef<DimAttr> dims, mlir::Type elementType);

  struct Input {
    llvm::StringRef name;
    mlir::Type type;
  };
  /// Begins a public function; the insertion point moves into it. Returns its arguments.
  llvm::SmallVector<mlir::Value> beginFunction(llvm::StringRef name, llvm::ArrayRef<Input> inputs);
  /// Ends it with one result.
  void endFunction(llvm::StringRef resultName, mlir::Value result);

  struct Weight {
    mlir::ElementsAttr elements; // null for a failure
    /// Of bytes that hold the numbers in blocks, with the bytes of a row as the last dimension.
    std::optional<BlockFormat> format;
  };
  /// The elements of a weight of these sizes, in its own type of f32, f16 or bf16, or the bytes of its blocks; one
  /// attribute for all uses. The bytes are those of the mapped file where they are aligned. Fails where there is no
  /// such tensor, for another shape, and for a type that is not supported.
  Weight getWeight(llvm::StringRef name, llvm::ArrayRef<int64_t> dims);
  /// The elements of a table that the caller computes, shared by its name.
  mlir::ElementsAttr getTable(llvm::StringRef name, llvm::ArrayRef<int64_t> dims,
                              llvm::function_ref<void(llvm::MutableArrayRef<float>)> compute);

  void fail(const llvm::Twine &message);
  bool hasFailed() const { return !problem.empty(); }
  const std::string &getProblem() const { return problem; }
  /// Verifies the module and hands it over; null after a failure.
  mlir::OwningOpRef<mlir::ModuleOp> finish();

private:
  mlir::ElementsAttr makeElements(mlir::RankedTensorType type, llvm::StringRef name, std::span<const uint8_t> stored);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Operation *lastDeclaration = nullptr;
  mlir::func::FuncOp function;
  llvm::StringMap<Weight> weightsRead; // of known sizes
  llvm::StringMap<mlir::ElementsAttr> tables;
  std::string problem;
};

enum class Activation { Gelu, GeluTanh, Relu, Silu };
/// By its name in a config.json; nullopt for another one. `known` is set to the list of names for messages.
std::optional<Activation> findActivation(llvm::StringRef name, std::string &known);

/// One part of a model, whose name all its ops have as their source. Activations are f32 [batch, length, width].
class Part : public GraphBuilder {
public:
  Part(ModelBuilder &model, llvm::StringRef name, llvm::StringRef kind);

  /// A weight as f32.
  mlir::Value weight(const llvm::Twine &name, llvm::ArrayRef<int64_t> dims);
  /// The rows of a table that `ids` name: [batch, length] -> [batch, length, width]. An id outside of the table fails
  /// the call.
  mlir::Value rows(mlir::Value table, mlir::Value ids);
  /// x * weight^T + bias, with the tensors `name`.weight [outputs, inputs] and `name`.bias.
  mlir::Value linear(mlir::Value x, const llvm::Twine &name, int64_t inputs, int64_t outputs, bool hasBias);
  /// x * table^T.
  mlir::Value multiply(mlir::Value x, mlir::Value table);
  /// The same for a weight [inputs, outputs], as GPT-2 stores it.
  mlir::Value linearTransposed(mlir::Value x, const llvm::Twine &name, int64_t inputs, int64_t outputs);
  /// Adds a vector to each row.
  mlir::Value addToRows(mlir::Value x, mlir::Value vector);
  mlir::Value layerNorm(mlir::Value x, const llvm::Twine &name, int64_t width, double epsilon);
  /// `isLessOne`: 1 is added to the weight.
  mlir::Value rmsNorm(mlir::Value x, const llvm::Twine &name, int64_t width, double epsilon, bool isLessOne = false);
  mlir::Value activate(Activation activation, mlir::Value x);

  /// [batch, length, heads * depth] -> [batch, length, heads, depth], and the inverse.
  mlir::Value splitHeads(mlir::Value x, int64_t heads, int64_t depth);
  mlir::Value joinHeads(mlir::Value x);

  /// The keys that count, of a mask of numbers that are not 0 for them: [batch, keys] -> bool [batch, 1, 1, keys].
  mlir::Value makeKeyMask(mlir::Value given);
  struct AttentionRules {
    double scale = 1;
    bool isCausal = false;
    std::optional<int64_t> window; // of a causal one: the keys that a query sees, its own included
    mlir::Value mask;              // the keys that count, or null: bool [batch, 1, 1, keys]
  };
  /// Attention of values [batch, length, heads, depth]; the heads of keys and values divide those of the query.
  mlir::Value attend(mlir::Value query, mlir::Value key, mlir::Value value, const AttentionRules &rules);

  /// Writes `rows` [1, tokens, heads, depth] into a cache variable [pages, heads, places, depth], each at its page and
  /// place of `at` [tokens, 2], which are known to be right. Returns the cache.
  mlir::Value writePages(llvm::StringRef cache, mlir::Type cacheType, mlir::Value rows, mlir::Value at);
  /// Attention of a query [1, tokens, heads, depth] over pages; see vx.paged_attention. `rules.mask` is null.
  struct Pages {
    mlir::Value keys, values, table, starts, lengths;
  };
  mlir::Value attend(mlir::Value query, const Pages &pages, const AttentionRules &rules);
  /// Indices that are known to be in [0, size), or of each member of a tuple in [0, its size): others fail the call.
  mlir::Value check(mlir::Value indices, llvm::ArrayRef<DimAttr> sizes);

protected:
  void refuse(Refusal kind, const llvm::Twine &message) override;

private:
  ModelBuilder &model;
  const std::string name;
};

} // namespace vx

#endif
