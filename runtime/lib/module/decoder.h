// Turns verified FlatBuffers into ModuleData, checking every index, number and name on the way.
#ifndef VX_RUNTIME_MODULE_DECODER_H
#define VX_RUNTIME_MODULE_DECODER_H

#include "module/module.h"

#include "vx/abi/module_generated.h"

#include <unordered_set>

namespace vx {

class Decoder {
public:
  // `metadataSize` bounds how much the decoded form may take: tables can be shared in the file, and are copies here.
  Decoder(ModuleData &data, uint64_t metadataSize) : data(data), budget(64 * metadataSize + (uint64_t(16) << 20)) {}

  Status decode(const format::Module &module);

private:
  // decoder.cpp
  Status spend(uint64_t bytes);
  Status text(const flatbuffers::String *source, std::string &result);
  Status name(const flatbuffers::String *source, std::string_view of, std::string &result);
  Status expression(const format::Expr *source, size_t symbolCount, Expression &result);
  Status elementType(format::ElementType source, vx_element_type &result);
  Status valueType(const format::ValueType *source, size_t symbolCount, ValueType &result);
  Status symbol(const format::Symbol &source, uint32_t index, Symbol &result);
  Status function(const format::Function &source, Function &result);
  Status predicate(const format::Predicate &source, const Function &owner, Predicate &result);
  Status arguments(const flatbuffers::Vector<flatbuffers::Offset<format::Argument>> *source, const Function &owner,
                   std::string_view direction, std::vector<Argument> &result);
  Status alias(const format::Alias &source, const Function &owner, Alias &result);
  Status batch(const format::Batch &source, const Function &owner, Batch &result);
  Status strings(const format::Module &module);
  Status hostFunction(const format::HostFunction &source, HostFunction &result);
  Status constant(const format::Constant &source, Constant &result);
  Status insideSection(uint32_t section, SectionKind kind, uint64_t offset, uint64_t size) const;

  // decode_variables.cpp
  Status variables(const format::Module &module);
  Status storage(const format::Storage &source, Storage &result);
  Status variable(const format::Variable &source, Variable &result);
  Status initial(const format::Init &source, Variable &result);
  Status random(const format::Init &source, RandomKind kind, Variable &result);
  Status storagesShareAlike() const;
  Status shadow(uint32_t index);

  // decode_training.cpp
  Status assets(const format::Module &module);
  Status training(const format::Training &source, Training &result);

  // decode_target.cpp
  Status target(const format::Target &source, Target &result);
  Status kernel(const format::Kernel &source, Kernel &result);
  Status kernelFacts(const format::Kernel &source, Kernel &result);
  Status cluster(const format::Kernel &source);
  Status variant(const format::Variant &source, const Target &owner, Variant &result);
  Status entries(const format::Target &source, Target &result);
  Status derived(const format::Target &source, Target &result);
  Status derivedFits(const Target &owner, const Derived &derived, size_t known);
  Status derivedOfVariables(const Target &owner, const Program &program, std::vector<uint32_t> &needed);
  Status derivedVariables(const Target &owner, Derived &derived);
  Status entryFits(const Target &owner, Entry &entry);

  // check_program.cpp
  // What a program does with a target's kernels, as far as it is known before a call: see ProgramChecker. `function` is
  // null for the program of a derived value; `derivedCount` is how many derived values the program may read.
  Status programFits(const Target &owner, const Program &program, const Function *function, size_t derivedCount);

  // decode_program.cpp
  Status program(const format::Program &source, Program &result);
  Status block(const format::Block *source, uint32_t depth, Program &owner, Block &result);
  Status instruction(const format::Instruction &source, uint32_t depth, Program &owner, Instruction &result);
  Status operands(const format::Instruction &source, const OpFacts &facts, const Program &owner, Instruction &result);
  Status immediate(const OpFacts &facts, const Instruction &instruction);
  Status command(const format::Command &source, const Program &owner, Command &result);
  Status results(const format::Program &source, Program &result);

  ModuleData &data;
  uint64_t budget;
};

// What stands on a device that this runtime does not have.
inline Status checkDevice(uint32_t device) {
  if (device == 0)
    return okStatus();
  return failure(VX_UNSUPPORTED, "names device {}, this runtime runs modules of one device", device);
}

// Elements of 8 bytes are read in place, so they must lie as the format says; FlatBuffers' own verification asks for no
// more than their number's place.
template <typename Vector>
Status checkAligned(const Vector &source, std::string_view what) {
  const auto place = reinterpret_cast<uintptr_t>(source.Data());
  if (source.size() && place % sizeof(uint64_t) != 0)
    return failure(VX_INVALID_MODULE, "{} lie {} bytes past a multiple of {}, expected 0", what,
                   place % sizeof(uint64_t), sizeof(uint64_t));
  return okStatus();
}

template <typename T>
Status checkUnique(const std::vector<T> &items, std::string_view what) {
  std::unordered_set<std::string_view> seen;
  for (const T &item : items)
    if (!seen.insert(item.name).second)
      return failure(VX_INVALID_MODULE, "two {} have the name '{}'", what, item.name);
  return okStatus();
}

// Decodes each element of a FlatBuffers vector (null is empty) with `decodeOne(element, result, index)`.
template <typename Vector, typename Result, typename F>
Status decodeEach(const Vector *source, std::vector<Result> &results, F &&decodeOne) {
  if (!source)
    return okStatus();
  results.reserve(source->size());
  for (flatbuffers::uoffset_t i = 0; i < source->size(); ++i) {
    Result &result = results.emplace_back();
    VX_RETURN_IF_ERROR(decodeOne(*source->Get(i), result, i));
  }
  return okStatus();
}

} // namespace vx

#endif
