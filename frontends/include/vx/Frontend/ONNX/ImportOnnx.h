// Reads an ONNX model into the vx dialect: the `import` phase.
#ifndef VX_FRONTEND_ONNX_IMPORTONNX_H
#define VX_FRONTEND_ONNX_IMPORTONNX_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <memory>
#include <string>
#include <vector>

namespace vx {

class OnnxSource;

struct ImportOptions {
  /// Tensors of more elements than this become resources (`dense_resource`), shorter ones stand in the text.
  int64_t maxInlineElements = 64;
  /// Keep the model, for an export of it (ExportOnnx.h).
  bool keepSource = false;
  /// What the file states of shapes and inference contradicts is an error and no warning, and so are nodes out of
  /// order.
  bool strict = false;
  /// The model is to be trained: dropouts and batch norms that compute something else in training, whatever the file
  /// says of them, become `vx.dropout` and `vx.batch_norm`. Else they compute what the file says.
  bool trains = false;
  /// With `trains`: which batch norms become `vx.batch_norm`. Others have the statistics of the file as constants.
  enum class BatchNorm {
    File,   // those of which the file says that they are trained
    Train,  // all
    Frozen, // none
  } batchNorm = BatchNorm::File;
};

/// One reason why a model was not imported.
struct ImportIssue {
  enum class Kind {
    /// The model may be right; this importer does not take it.
    Unsupported,
    /// The model or one of its files is wrong.
    Invalid,
  };
  Kind kind;
  /// The node by name, or by type and number when it has none; empty when the issue is no node's.
  std::string node;
  /// The node's op type and domain ("ai.onnx" for the default one), and the version of its domain that the model uses.
  std::string opType, domain;
  int64_t version = 0;
  /// What was wanted and what came; names the tensor, input or file where it is no node's.
  std::string reason;
  /// What the user can do about it; never empty in a report.
  std::string advice;

  /// One line without the file's name, e.g. "node 'up' (ConvTranspose, ai.onnx 17) is not supported: ...; export ...".
  std::string str() const;
};

/// Issues that differ in nothing but the node or the tensor.
struct ImportIssueGroup {
  ImportIssue first;
  /// The nodes' names, or the tensors': one for each issue.
  std::vector<std::string> places;
};

/// What an import took otherwise than the file has it.
struct ImportNote {
  enum class Kind {
    /// The file contradicts itself.
    Warning,
    /// The file says more than vx has room for, or says it in another way than it should.
    Note,
  };
  Kind kind;
  /// Of the first place, without the file's name.
  std::string text;
  /// The nodes or values that it is about, where the text is about one of several.
  std::vector<std::string> places;

  /// One line, which names the first places.
  std::string str() const;
};

/// What stands behind a message about the first of several places: " (and 3 more: 'b', 'c', 'd')", of many the first
/// ones; empty for one place.
std::string describeMore(llvm::ArrayRef<std::string> places);

/// All issues of one import, in the order of the model.
struct ImportReport {
  /// The file, as the caller named it.
  std::string file;
  std::vector<ImportIssue> issues;
  /// Of an import that succeeded, in the order of the model; one for all places of a kind.
  std::vector<ImportNote> notes;
  /// The files beside the model that its tensors name, also those that nothing reads.
  std::vector<std::string> externalFiles;
  /// The model, with `keepSource`.
  std::shared_ptr<OnnxSource> source;

  std::vector<ImportIssueGroup> groups() const;

  /// Prints one line for each group, "FILE: <issue>", and then how many nodes are not supported, if any.
  void print(llvm::raw_ostream &os) const;
};

/// Imports the model at `path`. External data is looked for in its folder, and stays mapped as long as the context's
/// resources refer to it.
///
/// The module has a `vx.symbol` for each symbolic dimension and a function @main whose arguments and results carry
/// their names as `vx.name`; it passes the verifier. On failure the result is null and `report` lists every issue: all
/// nodes that are not supported are found in one go. Thread-compatible: one import at a time on one context.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context, llvm::StringRef path,
                                             const ImportOptions &options, ImportReport &report);

/// As above, of a model in memory. `folder` is where external data is looked for; an empty one refuses external data.
/// `model` is not referred to after the call, but by what `keepSource` keeps.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context, llvm::MemoryBufferRef model,
                                             llvm::StringRef folder, const ImportOptions &options,
                                             ImportReport &report);

} // namespace vx

#endif
