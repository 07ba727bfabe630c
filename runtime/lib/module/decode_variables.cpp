// The state of instances: storages, and the variables that lie in them.
#include "module/decoder.h"

#include <algorithm>
#include <cmath>

namespace vx {

static bool hasSymbols(const Expression &expression) {
  bool any = false;
  expression.forEachSymbol([&](uint32_t) { any = true; });
  return any;
}

Status Decoder::variables(const format::Module &module) {
  VX_RETURN_IF_ERROR(
      decodeEach(module.storages(), data.storages, [&](const format::Storage &source, Storage &out, uint32_t i) {
        return storage(source, out).addContext(fmt::format("storage {}", i));
      }));
  VX_RETURN_IF_ERROR(
      decodeEach(module.variables(), data.variables, [&](const format::Variable &source, Variable &out, uint32_t i) {
        VX_RETURN_IF_ERROR(spend(sizeof(Variable)));
        return variable(source, out)
            .addContext(out.name.empty() ? fmt::format("variable {}", i) : fmt::format("variable '{}'", out.name));
      }));
  VX_RETURN_IF_ERROR(checkUnique(data.variables, "variables"));
  for (uint32_t i = 0; i < data.variables.size(); ++i)
    if (data.variables[i].role == Role::Shadow && !data.variables[i].source.empty())
      VX_RETURN_IF_ERROR(shadow(i).addContext(fmt::format("variable '{}'", data.variables[i].name)));
  return storagesShareAlike();
}

Status Decoder::shadow(uint32_t index) {
  const Variable &shadow = data.variables[index];
  const auto source = std::find_if(data.variables.begin(), data.variables.end(),
                                   [&](const Variable &one) { return one.name == shadow.source; });
  if (source == data.variables.end())
    return failure(VX_INVALID_MODULE, "is the shadow of '{}', which does not exist", shadow.source);
  if ((shadow.elementType != VX_F16 && shadow.elementType != VX_BF16) || source->elementType != VX_F32)
    return failure(VX_INVALID_MODULE, "is a shadow in {} of {}, expected one in f16 or bf16 of f32",
                   elementTypeName(shadow.elementType), elementTypeName(source->elementType));
  if (!isShareable(source->role))
    return failure(VX_INVALID_MODULE, "is the shadow of '{}' ({}), expected a parameter or a statistic", source->name,
                   roleName(source->role));
  if (!shadow.known || !source->known || shadow.known->dims != source->known->dims)
    return failure(VX_INVALID_MODULE, "is the shadow of '{}', expected the same dims, known to the module",
                   source->name);
  VX_RETURN_IF_ERROR(spend(sizeof(Shadow)));
  data.shadows.push_back({index, static_cast<uint32_t>(source - data.variables.begin())});
  return okStatus();
}

Status Decoder::storage(const format::Storage &source, Storage &result) {
  VX_RETURN_IF_ERROR(spend(sizeof(Storage)));
  VX_RETURN_IF_ERROR(checkDevice(source.device()));
  return expression(source.size(), data.symbols.size(), result.size).addContext("size");
}

Status Decoder::variable(const format::Variable &source, Variable &result) {
  VX_RETURN_IF_ERROR(name(source.name(), "variable", result.name));
  VX_RETURN_IF_ERROR(text(source.source(), result.source));
  VX_RETURN_IF_ERROR(elementType(source.element_type(), result.elementType));
  if (static_cast<size_t>(source.role()) >= roles)
    return failure(VX_INVALID_MODULE, "role has the unknown number {}", static_cast<int>(source.role()));
  result.role = static_cast<Role>(source.role());
  result.storage = source.storage();
  if (result.storage >= data.storages.size())
    return failure(VX_INVALID_MODULE, "storage {} does not exist, there are {}", result.storage, data.storages.size());
  if (source.dims() && source.dims()->size() > maxRank)
    return failure(VX_INVALID_MODULE, "rank is {}, allowed are {}", source.dims()->size(), maxRank);
  VX_RETURN_IF_ERROR(
      decodeEach(source.dims(), result.dims, [&](const format::Expr &dim, Expression &out, uint32_t i) -> Status {
        VX_RETURN_IF_ERROR(spend(sizeof(Expression)));
        return expression(&dim, data.symbols.size(), out).addContext(fmt::format("dim {}", i));
      }));
  VX_RETURN_IF_ERROR(expression(source.offset(), data.symbols.size(), result.offset).addContext("offset"));
  bool symbolic = hasSymbols(result.offset) || hasSymbols(data.storages[result.storage].size);
  for (const Expression &dim : result.dims)
    symbolic |= hasSymbols(dim);
  // The rest is known when an instance is made.
  if (!symbolic)
    VX_RETURN_IF_ERROR(placeVariable(data, result, {}, result.known.emplace()));
  return source.init() ? initial(*source.init(), result) : okStatus();
}

Status Decoder::initial(const format::Init &source, Variable &result) {
  switch (source.kind()) {
  case format::InitKind::Zero:
    return okStatus();
  case format::InitKind::Constant:
    break;
  case format::InitKind::Uniform:
    return random(source, RandomKind::Uniform, result);
  case format::InitKind::Normal:
    return random(source, RandomKind::Normal, result);
  case format::InitKind::Orthogonal:
    return random(source, RandomKind::Orthogonal, result);
  default:
    return failure(VX_INVALID_MODULE, "kind of start has the unknown number {}", static_cast<int>(source.kind()));
  }
  if (source.constant() >= data.constants.size())
    return failure(VX_INVALID_MODULE, "initial constant {} does not exist, there are {}", source.constant(),
                   data.constants.size());
  const Constant &constant = data.constants[source.constant()];
  if (!result.known)
    return failure(VX_INVALID_MODULE,
                   "starts as constant {}, expected zeros where the size is known only to the instance",
                   source.constant());
  if (constant.size != result.known->size || constant.type.elementType != result.elementType)
    return failure(VX_INVALID_MODULE, "initial constant {} has {} bytes of {}, the variable has {} of {}",
                   source.constant(), constant.size, elementTypeName(constant.type.elementType), result.known->size,
                   elementTypeName(result.elementType));
  result.initial = source.constant();
  return okStatus();
}

Status Decoder::random(const format::Init &source, RandomKind kind, Variable &result) {
  const RandomStart start{kind, source.a(), source.b()};
  if (!randomFormat(result.elementType))
    return failure(VX_INVALID_MODULE, "starts with random values of {}, expected f16, bf16, f32 or f64",
                   elementTypeName(result.elementType));
  if (!result.known)
    return failure(VX_INVALID_MODULE,
                   "starts with random values, expected zeros where the size is known only to the instance");
  if (!std::isfinite(start.a) || !std::isfinite(start.b))
    return failure(VX_INVALID_MODULE, "starts as {}, expected finite numbers", randomText(start));
  if (kind == RandomKind::Uniform && start.a > start.b)
    return failure(VX_INVALID_MODULE, "starts as {}, expected a first bound of at most {}", randomText(start), start.b);
  if (kind == RandomKind::Normal && start.b < 0)
    return failure(VX_INVALID_MODULE, "starts as {}, expected a deviation of at least 0", randomText(start));
  if (kind == RandomKind::Orthogonal && result.dims.size() < 2)
    return failure(VX_INVALID_MODULE, "starts as {} of rank {}, expected a rank of at least 2", randomText(start),
                   result.dims.size());
  result.random = start;
  return okStatus();
}

std::optional<RandomFormat> randomFormat(vx_element_type type) {
  switch (type) {
  case VX_F16:
    return RandomFormat::F16;
  case VX_BF16:
    return RandomFormat::BF16;
  case VX_F32:
    return RandomFormat::F32;
  case VX_F64:
    return RandomFormat::F64;
  default:
    return std::nullopt;
  }
}

std::string randomText(const RandomStart &start) {
  switch (start.kind) {
  case RandomKind::Uniform:
    return fmt::format("uniform({}, {})", start.a, start.b);
  case RandomKind::Normal:
    return fmt::format("normal({}, {})", start.a, start.b);
  case RandomKind::Orthogonal:
    break;
  }
  return fmt::format("orthogonal({})", start.a);
}

// An instance has a storage of its own or another instance's, whole.
Status Decoder::storagesShareAlike() const {
  std::vector<const Variable *> first(data.storages.size());
  for (const Variable &variable : data.variables) {
    const Variable *&other = first[variable.storage];
    if (!other)
      other = &variable;
    if (isShareable(other->role) != isShareable(variable.role))
      return failure(VX_INVALID_MODULE, "storage {} holds '{}' ({}) and '{}' ({}), of which instances share one",
                     variable.storage, other->name, roleName(other->role), variable.name, roleName(variable.role));
  }
  return okStatus();
}

Status placeVariable(const ModuleData &data, const Variable &variable, std::span<const int64_t> symbols,
                     VariablePlace &place) {
  place.dims.clear();
  for (const Expression &dim : variable.dims)
    VX_RETURN_IF_ERROR(dim.evaluate(symbols, place.dims.emplace_back()));
  if (Status status = tensorByteSize(variable.elementType, place.dims, place.size); !status.ok())
    return Status(VX_INVALID_MODULE, std::string(status.message()));
  int64_t offset = 0, available = 0;
  VX_RETURN_IF_ERROR(variable.offset.evaluate(symbols, offset).addContext("offset"));
  VX_RETURN_IF_ERROR(data.storages[variable.storage].size.evaluate(symbols, available).addContext("size of storage"));
  if (offset < 0 || offset > available || place.size > static_cast<uint64_t>(available - offset))
    return failure(VX_INVALID_MODULE, "{} needs {} bytes, at {} of storage {} of {} bytes",
                   tensorTypeString(variable.elementType, place.dims), place.size, offset, variable.storage, available);
  if (offset % VX_BUFFER_ALIGNMENT != 0)
    return failure(VX_INVALID_MODULE, "offset {} is no multiple of {}", offset, VX_BUFFER_ALIGNMENT);
  place.offset = static_cast<uint64_t>(offset);
  return okStatus();
}

const char *roleName(Role role) {
  static const char *const names[roles] = {"state",   "parameter", "optimizer", "statistic",
                                           "counter", "gradient",  "shadow",    "cache"};
  return names[static_cast<size_t>(role)];
}

} // namespace vx
