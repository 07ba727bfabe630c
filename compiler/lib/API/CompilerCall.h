// What the functions of the C interface that compile share.
#ifndef VX_LIB_API_COMPILERCALL_H
#define VX_LIB_API_COMPILERCALL_H

#include "vx/Driver/Compilation.h"
#include "vx/Frontend/LanguageModels/LanguageModel.h"
#include "vx/Frontend/ONNX/ExportOnnx.h"
#include "vx/Frontend/ONNX/ImportOnnx.h"
#include "vx/Frontend/SentenceTransformers/EmbeddingFolder.h"
#include "vx/compiler/vxc.h"

#include "vx/base/printable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>

namespace vx {

/// The targets of this library.
const TargetRegistry &getTargets();

/// One call of the compiler: options in their C++ form, and where messages go.
class CompilerCall {
public:
  explicit CompilerCall(const vxc_options &raw) : options(raw) {}

  vxc_result run(const char *modelPath, const char *outputPath);
  vxc_result runBytes(llvm::StringRef model, const char *name, std::unique_ptr<ModuleBytes> &module);
  /// A model that is a module of the phase import already, in a context with the dialects of all targets.
  struct Built {
    std::string name;
    mlir::ModuleOp module;
    std::optional<TrainingOptions> training;
    int64_t memory = 0, plannedBatch = 0;
    /// Null: there is no export.
    std::function<std::optional<ExportSkeleton>(mlir::ModuleOp, const ExportOptions &, std::string &error)>
        makeSkeleton;
  };
  /// To `bytes`, or where that is null to `outputPath`.
  vxc_result runBuilt(const Built &built, const char *outputPath, std::unique_ptr<ModuleBytes> *bytes);

  vxc_result fail(vxc_result result, const std::string &message) const {
    say(VXC_ERROR, printableLine(message));
    return result;
  }

private:
  void say(vxc_severity severity, const std::string &message) const {
    if (options.on_message)
      options.on_message(options.user_data, severity, printable(message).c_str());
  }
  void print(llvm::StringRef text) const {
    if (options.on_text)
      options.on_text(options.user_data, text.data(), text.size());
  }

  vxc_result parseOptions();
  vxc_result parseTraining();
  vxc_result parseExport();
  vxc_result checkLists();
  vxc_result splitList(llvm::StringRef what, const char *list, std::vector<std::string> &parts) const;
  vxc_result parseDim(llvm::StringRef text);
  using LoadFunction =
      llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(mlir::MLIRContext &context, vxc_result &result)>;
  using CompileFunction = llvm::function_ref<Outcome(Compilation &job, mlir::ModuleOp module, std::string &text)>;

  mlir::OwningOpRef<mlir::ModuleOp> load(mlir::MLIRContext &context, llvm::StringRef path, vxc_result &result);
  /// Of a folder with a model of embeddings.
  mlir::OwningOpRef<mlir::ModuleOp> loadFolder(mlir::MLIRContext &context, llvm::StringRef path, vxc_result &result);
  /// Of a language model, a folder or a GGUF file.
  mlir::OwningOpRef<mlir::ModuleOp> loadDecoder(mlir::MLIRContext &context, llvm::StringRef path, vxc_result &result);
  mlir::OwningOpRef<mlir::ModuleOp> loadBytes(mlir::MLIRContext &context, llvm::StringRef model, llvm::StringRef name,
                                              vxc_result &result);
  mlir::OwningOpRef<mlir::ModuleOp> checkText(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef name,
                                              vxc_result &result) const;
  ImportOptions importOptions() const;
  mlir::OwningOpRef<mlir::ModuleOp> checkImport(mlir::OwningOpRef<mlir::ModuleOp> module, const ImportReport &report);
  /// Once for a node, also where several functions have it; with `check_only` an error about a node waits for others of
  /// its kind.
  void sayDiagnostic(mlir::Diagnostic &diagnostic, llvm::StringRef modelName);
  /// With `check_only` the errors that waited, a line for each kind.
  void sayWaiting();
  /// With `check_only` and "json" as the report: all of them.
  void printRefusals(llvm::StringRef modelName);
  vxc_result compile(llvm::StringRef modelName, LoadFunction load, CompileFunction run);
  vxc_result compileIn(mlir::MLIRContext &context, llvm::StringRef modelName, LoadFunction load, CompileFunction run);
  vxc_result checkFiles(const char *modelPath, llvm::StringRef outputPath,
                        llvm::ArrayRef<std::string> externalFiles) const;
  vxc_result checkWeightsInside() const;
  vxc_result referToFiles(const char *modelPath, llvm::StringRef output);
  bool confirm(const CompilationReport &report, std::string &error) const;

  vxc_options options;
  CompilationOptions compilation;
  std::vector<std::string> externalFiles; // of the model
  ModelFiles modelFiles;                  // of a folder or of a GGUF file
  std::string moduleName;                 // empty: that of the model's file
  ExportOptions exporting;
  bool hasExport = true;
  std::shared_ptr<OnnxSource> source; // of the model, where it is to be exported
  llvm::StringSet<> said;             // diagnostics
  struct Waiting {
    std::string message; // of the first node
    std::vector<std::string> nodes;
  };
  std::vector<Waiting> waiting;
  llvm::StringMap<size_t> waitingPlaces; // by what is said of a node
  ImportReport refused;                  // what `check_only` finds
};

/// The options that a caller knows.
inline vxc_options readOptions(const vxc_options &options) {
  vxc_options known = {};
  memcpy(&known, &options, std::min(options.struct_size, sizeof(known)));
  return known;
}

} // namespace vx

struct vxc_module {
  std::unique_ptr<vx::ModuleBytes> bytes;
};

#endif
