// Makes module files for tests out of the schema's object form.
#ifndef VX_TEST_UNIT_RUNTIME_MODULE_BUILDER_H
#define VX_TEST_UNIT_RUNTIME_MODULE_BUILDER_H

#include "vx/abi/module_generated.h"
#include "vx/abi/module_header.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace vx::test {

using format::Op;

// Kernels of test_kernels.c and of vulkan/*.spvasm, by their index in every target that the builder makes.
inline constexpr uint32_t ScaleAdd = 0;
inline constexpr uint32_t Gather = 1;

using BlockPtr = std::unique_ptr<format::BlockT>;
using InstructionPtr = std::unique_ptr<format::InstructionT>;
using CommandPtr = std::unique_ptr<format::CommandT>;

// instruction(Op::Add, {2, 0, 1})
InstructionPtr instruction(Op op, std::vector<uint32_t> operands = {}, int64_t imm = 0, int32_t site = -1);
template <typename... Parts>
BlockPtr block(Parts... parts) {
  auto result = std::make_unique<format::BlockT>();
  (result->instructions.push_back(std::move(parts)), ...);
  return result;
}
InstructionPtr ifElse(uint32_t condition, BlockPtr then, BlockPtr otherwise);
InstructionPtr whileLoop(uint32_t condition, BlockPtr body);
CommandPtr dispatch(uint32_t kernel, uint32_t workgroups, std::vector<uint32_t> buffers, std::vector<uint32_t> scalars,
                    bool barrier = true, int32_t workspace = -1);
CommandPtr copy(uint32_t source, uint32_t destination, bool barrier = true);
template <typename... Parts>
InstructionPtr segment(Parts... commands) {
  InstructionPtr result = instruction(Op::Segment);
  (result->commands.push_back(std::move(commands)), ...);
  return result;
}

std::unique_ptr<format::ExprT> constantExpr(int64_t value);
std::unique_ptr<format::ExprT> symbolExpr(int64_t symbol);
std::unique_ptr<format::ExprT> exprOf(std::vector<format::ExprNode> nodes);
std::unique_ptr<format::SymbolT> symbol(std::string name, int64_t min = 0, int64_t max = INT64_MAX,
                                        int64_t multiple = 1, bool dataDependent = false);
template <typename... Dims>
std::unique_ptr<format::ArgumentT> argument(std::string name, format::ElementType type, Dims... dims) {
  auto result = std::make_unique<format::ArgumentT>();
  result->name = std::move(name);
  result->type = std::make_unique<format::ValueTypeT>();
  result->type->element_type = type;
  (result->type->dims.push_back(std::move(dims)), ...);
  return result;
}
std::unique_ptr<format::ArgumentT> listArgument(std::string name, format::ElementType type, format::ValueKind kind);
std::unique_ptr<format::ResultT> tensorResult(int32_t buffer, std::vector<uint32_t> dims);
std::unique_ptr<format::ResultT> listResult(int32_t object);

class ModuleBuilder {
public:
  ModuleBuilder();

  format::ModuleT module;
  // By section; the offsets, sizes and hashes are filled in by `bytes`.
  std::vector<std::vector<uint8_t>> sections;

  uint32_t addSection(format::SectionKind kind, std::vector<uint8_t> bytes);
  // A function and the program that runs it on every target added later.
  format::FunctionT &function(const std::string &name = "main");
  format::ProgramT &program(const std::string &name, uint32_t i64, uint32_t buffers, uint32_t objects, BlockPtr body);
  // Fault sites "node_I (Gather)" with "index", so that the kernels' site 3 exists.
  void addFaultSites(int count);
  // The CPU target with the test kernels and an entry per function; program i runs function i.
  format::TargetT &addCpuTarget(std::vector<std::string> requirements = {});
  // A target of GPUs with one variant that wants `requirement`; `codes` are what the kernels' code is.
  format::TargetT &addGpuTarget(const std::string &name, const std::string &requirement,
                                const std::vector<std::span<const uint8_t>> &codes);
  // The Vulkan target, when the tests were built with its kernels.
  bool addVulkanTarget();
  // The target of "cuda" or "rocm" with what the library that stands in for the vendor's takes for the kernels.
  format::TargetT &addStandInTarget(const std::string &name);

  // A constant of a new weights section.
  uint32_t addConstant(const std::string &name, format::ElementType type, std::vector<int64_t> dims, const void *data,
                       size_t size);
  uint32_t addVariable(const std::string &name, format::ElementType type, std::vector<int64_t> dims, uint64_t size,
                       int32_t initial = -1);

  // The whole file. With `keepSections` false the sections keep the offsets, sizes and hashes that the test gave them.
  std::vector<uint8_t> bytes(bool fillSections = true) const;
  // Writes the file to the test's scratch folder and gives its path.
  std::string write(const std::string &name = "test.vxm") const;

private:
  void addEntries(format::TargetT &target);
  void addKernels(format::TargetT &target);
};

// Packs metadata and sections as docs/module-format.md says. The metadata's hash is right.
std::vector<uint8_t> packFile(const std::vector<uint8_t> &metadata, const std::vector<std::vector<uint8_t>> &sections,
                              const std::vector<uint64_t> &offsets);
// A file of weights for a section with `external_file`.
std::vector<uint8_t> packWeights(const std::vector<uint8_t> &weights);
std::vector<uint8_t> readFile(const std::string &path);
void writeFile(const std::string &path, const std::vector<uint8_t> &bytes);
// A folder of this process, emptied by nobody: file names are the test's.
std::string scratchPath(const std::string &name);
std::vector<uint8_t> cpuImage();

} // namespace vx::test

#endif
