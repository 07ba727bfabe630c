// A module file: its sections mapped, its metadata decoded and checked. Immutable.
#ifndef VX_RUNTIME_MODULE_MODULE_H
#define VX_RUNTIME_MODULE_MODULE_H

#include "base/file_mapping.h"
#include "base/ref.h"
#include "base/status.h"
#include "module/element_type.h"
#include "module/predicate.h"
#include "module/program.h"
#include "vx/base/random_values.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vx {

struct ValueType {
  vx_value_kind kind = VX_TENSOR;
  vx_element_type elementType = VX_ELEMENT_NONE;
  bool ranked = true;
  std::vector<Expression> dims;
};

// Values that an input's elements may have: [lower, upper), and one that stands for none. No upper one: it is not known
// before the call.
struct ValueRange {
  int64_t lower = 0;
  std::optional<Expression> upper;
  std::optional<int64_t> also;
};

struct Argument {
  std::string name;
  ValueType type;
  std::optional<ValueRange> range; // none: any value
  std::optional<uint32_t> rows;    // of an output: the dimension along which its parts are independent, where known
  bool same = false;               // of an output: it is the same whatever the rows are
  std::string reason;              // of an output: why it is neither, where known
};

struct Symbol {
  std::string name;
  int64_t min = 0;
  int64_t max = INT64_MAX;
  int64_t multiple = 1;
  bool dataDependent = false;
  std::optional<uint32_t> instance; // of a function's: the instance's symbol that it is
};

// What a node wants of the inputs' sizes, over the symbols of a function.
struct Predicate {
  PredicateKind kind = PredicateKind::Equal;
  Expression lhs;
  Expression rhs;
  uint32_t site = 0; // index of faultSites
};

// The memory of an input may be that of an output.
struct Alias {
  uint32_t input = 0;
  uint32_t output = 0;
};

// Inputs that have a row for each row of the outputs, along dimension 0.
struct Batch {
  uint32_t symbol = 0;          // the size of that dimension, by its first name
  std::vector<uint32_t> inputs; // ascending
};

struct Function {
  std::string name;
  std::vector<Symbol> symbols;
  std::vector<std::string> symbolNames; // of `symbols`, for Expression::toString
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Predicate> constraints;
  std::vector<Alias> aliases;
  std::optional<Batch> batch;
};

enum class SectionKind : uint8_t { Weights, Code, Assets };
const char *sectionKindName(SectionKind kind);

struct Section {
  SectionKind kind = SectionKind::Weights;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t hash = 0;
  std::string externalFile;
  std::optional<uint64_t> samples; // of a file of the model: vx_hash64_samples
  std::span<const uint8_t> bytes;
};

struct Constant {
  std::string name;
  uint32_t section = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  ValueType type;
};

// What the host computes of the tensors of a list. The kinds are those of the file.
enum class HostFunctionKind : uint8_t {
  StringConcat,
  StringUpper,
  StringLower,
  StringSplit,
  StringMatch,
  StringParse,
  StringFormat,
  ImageDecode
};
inline constexpr size_t hostFunctionKinds = 8;
// "string_concat"
const char *hostFunctionName(HostFunctionKind kind);
// The library that is opened for it when it is called; empty: none.
const char *hostFunctionLibrary(HostFunctionKind kind);

struct HostFunction {
  HostFunctionKind kind = HostFunctionKind::StringConcat;
  std::string text;
  int64_t limit = -1;
  std::vector<vx_element_type> results;
};

enum class Role : uint8_t { State, Parameter, Optimizer, Statistic, Counter, Gradient, Shadow, Cache };
inline constexpr size_t roles = 8;
const char *roleName(Role role);
// Whether instances may share variables of this role: a shadow as its source.
inline bool isShareable(Role role) {
  return role == Role::Parameter || role == Role::Statistic || role == Role::Shadow;
}

// Memory of an instance. The size is over the instance's symbols.
struct Storage {
  Expression size;
};

// Where a variable lies in its storage, its symbols known.
struct VariablePlace {
  std::vector<int64_t> dims;
  uint64_t size = 0;
  uint64_t offset = 0;
};

// Dims and offset are over the instance's symbols.
struct Variable {
  std::string name;
  vx_element_type elementType = VX_ELEMENT_NONE;
  std::vector<Expression> dims;
  uint32_t storage = 0;
  Expression offset;
  Role role = Role::State;
  std::optional<uint32_t> initial;    // index of constants; neither this nor `random`: zeros
  std::optional<RandomStart> random;  // drawn from the instance's seed and the name
  std::string source;                 // empty: `name`
  std::optional<VariablePlace> known; // where no symbol is needed
};

// A variable that holds the elements of another one of f32, rounded to f16 or bf16. Programs that store the source
// store it, too; what an instance writes into the source it writes here.
struct Shadow {
  uint32_t variable = 0;
  uint32_t source = 0;
};

// Nothing for a type that random values are not drawn in.
std::optional<RandomFormat> randomFormat(vx_element_type type);
// "uniform(-0.1, 0.1)"
std::string randomText(const RandomStart &start);

struct Asset {
  std::string name;
  std::string kind;
  uint32_t section = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

enum class HyperKind : uint8_t { Rate, Seed, Scale };
const char *hyperKindName(HyperKind kind);

struct Hyper {
  HyperKind kind = HyperKind::Rate;
  uint32_t input = 0; // of `trainStep`
};

// The functions are indices.
struct Training {
  std::optional<uint32_t> trainStep, evaluate, predict, backward, step;
  std::vector<uint32_t> inputs; // of `trainStep`, from the user's data
  std::vector<Hyper> hypers;
  std::vector<uint32_t> metrics; // outputs of `trainStep`
  // For each metric the output that it is the mean over; nothing: the rows. Empty where that holds for all.
  std::vector<std::optional<uint32_t>> counts;
  std::string optimizer;
  std::string loss;
  std::optional<uint32_t> skeleton; // index of assets
  double rate = 0;
};

struct FaultSite {
  std::string node;
  std::string what;
};

enum class Access : uint8_t { Read, Write, ReadWrite };

// What a kernel takes a buffer for. The dims are over the kernel's scalars. An empty layout is row-major.
struct BufferType {
  vx_element_type elementType = VX_ELEMENT_NONE;
  std::vector<Expression> dims;
  std::string layout;
};

struct Kernel {
  std::string name;
  std::string key;
  std::vector<std::string> sources;
  std::string strategy;
  std::vector<Access> buffers;
  uint32_t scalarCount = 0;
  uint32_t workgroupSize[3] = {1, 1, 1};
  std::vector<BufferType> bufferTypes;  // one per buffer
  std::optional<Expression> workgroups; // of one dispatch, over the scalars
  std::optional<Expression> workspace;  // bytes that one dispatch needs, over the scalars
  // Of one dispatch, over the scalars; nothing where the file left them out.
  std::optional<Expression> flops;
  std::optional<Expression> bytes;
};

struct Variant {
  std::string name;
  std::vector<std::string> requirements;
  uint32_t section = 0;
  std::vector<std::string> entries;
  std::vector<uint64_t> offsets;
};

// The symbol is in [min, max].
struct Constraint {
  uint32_t symbol = 0;
  int64_t min = 0;
  int64_t max = 0;
};

struct Entry {
  uint32_t function = 0;
  uint32_t program = 0;
  std::vector<uint32_t> needed; // derived values of variables that it reads, with those that they read, ascending
  std::vector<Constraint> constraints;
};

// What one target computes from constants when a module is loaded, or from variables too when somebody needs it.
struct Derived {
  std::string name;
  uint32_t program = 0; // takes nothing; its one result is the value
  // That decide it, ascending: the program's, and those of the derived values that it reads. Empty: a constant.
  std::vector<uint32_t> variables;
  std::vector<uint32_t> needed; // derived values of variables that it reads, with those that they read, ascending
  vx_element_type elementType = VX_ELEMENT_NONE;
  std::vector<int64_t> dims;
  uint64_t size = 0;
};

struct Target {
  std::string name;
  std::string triple;
  std::vector<Kernel> kernels;
  std::vector<Variant> variants;
  std::vector<Entry> entries;
  std::vector<Derived> derived; // each reads only those before it
};

// What the metadata says.
struct ModuleData {
  std::string producer;
  std::string name;
  std::vector<Function> functions;
  std::vector<Section> sections;
  std::vector<Constant> constants;
  std::vector<Symbol> symbols; // bound when an instance is made
  std::vector<std::string> symbolNames;
  std::vector<Storage> storages;
  std::vector<Variable> variables;
  std::vector<Shadow> shadows;
  std::vector<Asset> assets;
  std::optional<Training> training;
  std::vector<FaultSite> faultSites;
  std::vector<std::string> sourceNodes;
  std::vector<std::string> strings;
  std::unordered_map<std::string_view, int32_t> stringNumbers; // of `strings`
  std::vector<HostFunction> hostFunctions;
  std::vector<Target> targets;
  std::vector<Program> programs;
};

// Finds where a variable lies, given the instance's symbols: a tensor that its storage holds, at a multiple of
// VX_BUFFER_ALIGNMENT, or VX_INVALID_MODULE.
Status placeVariable(const ModuleData &data, const Variable &variable, std::span<const int64_t> symbols,
                     VariablePlace &place);

// The signature as the C interface shows it; points into the module.
struct SignatureTables {
  std::vector<vx_function_info> functions;
  std::vector<vx_variable_info> variables;
  std::vector<vx_symbol_info> instanceSymbols;
  std::vector<vx_asset_info> assets;
  std::vector<vx_constant_info> constants;
  std::vector<std::vector<vx_alias_info>> aliases;   // by function
  std::vector<std::optional<vx_batch_info>> batches; // by function
  std::deque<std::vector<vx_row_use>> rowUses;
  std::deque<std::vector<const char *>> reasons;
  std::optional<vx_training_info> training;
  std::deque<std::vector<vx_argument_info>> arguments;
  std::deque<std::vector<vx_symbol_info>> symbols;
  std::deque<std::vector<vx_dim_info>> dims;
  std::deque<vx_value_range> ranges;
  std::deque<std::vector<int64_t>> sizes;
  std::vector<size_t> trainingInputs, trainingMetrics, trainingCounts;
  std::vector<vx_hyper_info> trainingHypers;
  std::deque<std::string> texts;
};

class Module : public RefCounted {
public:
  // Maps and checks a file. Every message names it.
  static Status load(const std::string &path, Ref<Module> &module);

  // Checks a module that lies in memory, which must be aligned to 64 bytes and outlive the module. Every message names
  // it. It has no folder, and so no external sections.
  static Status fromMemory(const std::string &name, std::span<const uint8_t> bytes, Ref<Module> &module);

  const std::string &path() const { return filePath; }
  const ModuleData &data() const { return contents; }
  const SignatureTables &signature() const { return tables; }
  uint64_t fileSize() const { return file.size(); }
  uint64_t metadataSize() const { return metadataSpan.size(); }
  // Of the file, and of the metadata in it.
  std::span<const uint8_t> bytes() const { return file; }
  std::span<const uint8_t> metadata() const { return metadataSpan; }

  // Compares the bytes of a section with its hash.
  Status verifySection(uint32_t section) const;

  // Lets the system take back the memory of mapped bytes that are not read soon. They stay valid: the file has them.
  void releasePages(std::span<const uint8_t> bytes) const;
  // True for bytes of a file that is mapped, so that whole pages around them are too.
  bool isMapped(std::span<const uint8_t> bytes) const;

  // "section 2 (code, 4096 bytes at 8192)"
  std::string describeSection(uint32_t section) const;

  // The metadata as JSON, see vx_module_describe.
  std::string describe() const;

private:
  friend struct ModuleLoader;

  std::string filePath;
  FileMapping mapping;
  std::vector<FileMapping> externalMappings;
  std::span<const uint8_t> file;
  std::span<const uint8_t> metadataSpan;
  ModuleData contents;
  SignatureTables tables;
};

} // namespace vx

#endif
