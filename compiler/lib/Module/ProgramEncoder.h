// Encodes vxrt programs as the tables of the module file.
#ifndef VX_LIB_MODULE_PROGRAMENCODER_H
#define VX_LIB_MODULE_PROGRAMENCODER_H

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "vx/abi/module_generated.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace vx {

/// Tables that all programs of a module share, numbered as they are met.
struct SharedTables {
  struct Constant {
    uint32_t number;
    llvm::SetVector<mlir::StringAttr> names; // of the model's initializers
  };
  llvm::MapVector<mlir::ElementsAttr, Constant> constants;
  llvm::StringMap<uint32_t> variables;                         // by name
  std::vector<std::pair<std::string, std::string>> faultSites; // node, what
  llvm::StringMap<uint32_t> faultSiteRuns;                     // where a run of sites begins, by its text
  std::vector<std::string> sourceNodes;
  llvm::StringMap<uint32_t> sourceNodeNumbers;
  std::vector<std::unique_ptr<format::HostFunctionT>> hostFunctions;
  llvm::StringMap<uint32_t> hostFunctionNumbers; // by what each is

  uint32_t getConstant(mlir::ElementsAttr value, mlir::ArrayAttr names = {}) {
    Constant &constant = constants.insert({value, {static_cast<uint32_t>(constants.size()), {}}}).first->second;
    if (names)
      for (mlir::Attribute name : names)
        constant.names.insert(mlir::cast<mlir::StringAttr>(name));
    return constant.number;
  }

  uint32_t getSourceNode(llvm::StringRef node) {
    auto [it, isNew] = sourceNodeNumbers.try_emplace(node, static_cast<uint32_t>(sourceNodes.size()));
    if (isNew)
      sourceNodes.push_back(node.str());
    return it->second;
  }

  uint32_t getHostFunction(std::unique_ptr<format::HostFunctionT> function) {
    std::string text = std::to_string(static_cast<int>(function->kind)) + ' ' + std::to_string(function->limit);
    for (format::ElementType type : function->results)
      text += ' ' + std::to_string(static_cast<int>(type));
    text += '\0' + function->text;
    auto [it, isNew] = hostFunctionNumbers.try_emplace(text, static_cast<uint32_t>(hostFunctions.size()));
    if (isNew)
      hostFunctions.push_back(std::move(function));
    return it->second;
  }

  /// The number of the first of consecutive sites, one for each node; equal runs are stored once.
  uint32_t getFaultSites(llvm::ArrayRef<std::string> nodes, llvm::StringRef what) {
    std::string text = what.str();
    for (const std::string &node : nodes)
      text += '\0' + node;
    auto [it, isNew] = faultSiteRuns.try_emplace(text, static_cast<uint32_t>(faultSites.size()));
    if (isNew)
      for (const std::string &node : nodes)
        faultSites.emplace_back(node, what.str());
    return it->second;
  }
};

/// The module file's number of an element type; None for one that it has no number for.
format::ElementType getElementType(mlir::Type type);

/// `dim` over the symbols in `symbols`, each term once.
format::ExprT encodeExpr(DimAttr dim, mlir::ArrayAttr symbols);

/// What the outermost block of a program reserves, over the program's symbols; none when it depends on what runs.
std::optional<format::ExprT> encodeArenaSize(vxrt::ProgramOp program);

/// The tables of one target, numbered by key.
struct TargetTables {
  llvm::StringMap<uint32_t> kernels;
  llvm::StringMap<uint32_t> derived;
};

/// The tables of `program`; `module` holds its kernels and the programs of its derived constants.
format::ProgramT encodeProgram(vxrt::ProgramOp program, mlir::ModuleOp module, const TargetTables &target,
                               SharedTables &shared);

} // namespace vx

#endif
