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
  /// Tensors of more elements than this become resources (`dense_resource`), shorter ones are inline.
  int64_t maxInlineElements = 64;
  /// Stores the source of the model, for its export (ExportOnnx.h).
  bool keepSource = false;
  /// A stated shape that contradicts inference is an error instead of a warning, and nodes out of order are an error
  /// instead of a note.
  bool strict = false;
  /// The model is to be trained. Dropouts and batch norms become `vx.dropout` and `vx.batch_norm`, which differ in
  /// training, whatever the file states for them. Otherwise they compute as the file states.
  bool trains = false;
  /// With `trains`: which batch norms become `vx.batch_norm`. Others have the statistics of the file as constants.
  enum class BatchNorm {
    File,   // those that the file marks as trained
    Train,  // all
    Frozen, // none
  } batchNorm = BatchNorm::File;
};

/// One reason why a model was not imported.
struct ImportIssue {
  enum class Kind {
    /// The model may be valid; this importer does not support it.
    Unsupported,
    /// The model or one of its files is invalid.
    Invalid,
  };
  Kind kind;
  /// The node by name, or by type and number if it has none; empty if the issue is not of a node.
  std::string node;
  /// The node's op type and domain ("ai.onnx" for the default one), and the version of its domain that the model uses.
  std::string opType, domain;
  int64_t version = 0;
  /// The expected and the given value. Names the tensor, input or file if the issue is not of a node.
  std::string reason;
  /// Advice to the user; never empty in a report.
  std::string advice;

  /// One line without the file's name, e.g. "node 'up' (ConvTranspose, ai.onnx 17) is not supported: ...; export ...".
  std::string str() const;
};

/// Issues that differ in the node or the tensor only.
struct ImportIssueGroup {
  ImportIssue first;
  /// The nodes' names, or the tensors': one for each issue.
  std::vector<std::string> places;
};

/// A difference between the import and the file.
struct ImportNote {
  enum class Kind {
    /// The file contradicts itself.
    Warning,
    /// The file has information that vx does not use, or breaks a convention.
    Note,
  };
  Kind kind;
  /// The text for the first node or value, without the file's name.
  std::string text;
  /// The nodes or values that have this note, if the text names one of several.
  std::vector<std::string> places;

  /// One line, which names the first of these nodes or values.
  std::string str() const;
};

/// The suffix of a message about the first of several places: " (and 3 more: 'b', 'c', 'd')". Of many it names the
/// first ones. Empty for one place.
std::string describeMore(llvm::ArrayRef<std::string> places);

/// All issues of one import, in the order of the model.
struct ImportReport {
  /// The file, as the caller named it.
  std::string file;
  std::vector<ImportIssue> issues;
  /// The notes of a successful import, in the order of the model; one for all places of a kind.
  std::vector<ImportNote> notes;
  /// The files of external data that tensors of the model name, also those that nothing reads.
  std::vector<std::string> externalFiles;
  /// The model, with `keepSource`.
  std::shared_ptr<OnnxSource> source;

  std::vector<ImportIssueGroup> groups() const;

  /// Prints one line for each group, "FILE: <issue>", and then the number of unsupported nodes, if any.
  void print(llvm::raw_ostream &os) const;
};

/// Imports the model at `path`. External data is read from its folder, and stays mapped while the context's resources
/// refer to it.
///
/// The module has a `vx.symbol` for each symbolic dimension and a function @main whose arguments and results carry
/// their names as `vx.name`; it passes the verifier. On failure the result is null and `report` lists every issue: one
/// import finds all unsupported nodes. Thread-compatible: one import at a time on one context.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context, llvm::StringRef path,
                                             const ImportOptions &options, ImportReport &report);

/// As above, for a model in memory. External data is read from `folder`; an empty one refuses external data. Only the
/// source that `keepSource` stores refers to `model` after the call.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext &context, llvm::MemoryBufferRef model,
                                             llvm::StringRef folder, const ImportOptions &options,
                                             ImportReport &report);

} // namespace vx

#endif
