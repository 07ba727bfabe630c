#include "NodeChecks.h"

#include "ImportError.h"
#include "NodeImporter.h"
#include "TensorReader.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/base/utf8.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using llvm::Twine;

namespace vx::onnx {

static constexpr OpSignature signatures[] = {
#include "OpSignatures.inc"
};

//===-- Signatures ----------------------------------------------------------------------------===//

/// The lines of one op, by rising versions.
static ArrayRef<OpSignature> getVersions(StringRef domain, StringRef name) {
  auto isBefore = [](const OpSignature &signature, std::pair<StringRef, StringRef> op) {
    return std::pair<StringRef, StringRef>(signature.domain, signature.name) < op;
  };
  const OpSignature *first = llvm::lower_bound(signatures, std::pair(domain, name), isBefore), *last = first;
  while (last != std::end(signatures) && last->domain == domain && last->name == name)
    ++last;
  return ArrayRef(first, last);
}

const OpSignature *findSignature(StringRef domain, StringRef name, int64_t version) {
  const OpSignature *found = nullptr;
  for (const OpSignature &signature : getVersions(domain, name))
    if (signature.version <= version)
      found = &signature;
  return found;
}

int64_t getEnd(const OpSignature &signature) {
  const OpSignature &last = getVersions(signature.domain, signature.name).back();
  return last.isDeprecated ? last.version : 0;
}

//===-- Attributes ----------------------------------------------------------------------------===//

/// The types of the fields of an attribute that hold something.
static SmallVector<AttributeProto::AttributeType> getFields(const AttributeProto &attribute) {
  SmallVector<AttributeProto::AttributeType> types;
  for (auto [isThere, type] : {std::pair(attribute.has_f(), AttributeProto::FLOAT),
                               {attribute.has_i(), AttributeProto::INT},
                               {attribute.has_s(), AttributeProto::STRING},
                               {attribute.has_t(), AttributeProto::TENSOR},
                               {attribute.has_g(), AttributeProto::GRAPH},
                               {attribute.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR},
                               {attribute.has_tp(), AttributeProto::TYPE_PROTO},
                               {attribute.floats_size() > 0, AttributeProto::FLOATS},
                               {attribute.ints_size() > 0, AttributeProto::INTS},
                               {attribute.strings_size() > 0, AttributeProto::STRINGS},
                               {attribute.tensors_size() > 0, AttributeProto::TENSORS},
                               {attribute.graphs_size() > 0, AttributeProto::GRAPHS}})
    if (isThere)
      types.push_back(type);
  return types;
}

AttributeProto::AttributeType getType(const AttributeProto &attribute) {
  if (attribute.has_type() && attribute.type() != AttributeProto::UNDEFINED)
    return attribute.type();
  const SmallVector<AttributeProto::AttributeType> fields = getFields(attribute);
  return fields.empty() ? AttributeProto::UNDEFINED : fields.front();
}

StringRef spell(AttributeProto::AttributeType type) {
  static constexpr StringLiteral names[] = {"nothing", "a float",         "an int",         "a string", "a tensor",
                                            "a graph", "floats",          "ints",           "strings",  "tensors",
                                            "graphs",  "a sparse tensor", "sparse tensors", "a type",   "types"};
  return names[type];
}

namespace {

/// "axis:i!".
struct AttributeSignature {
  explicit AttributeSignature(StringRef text) : isRequired(text.consume_back("!")) {
    constexpr StringLiteral letters = "?fistgFISTGpPyY"; // in the order of the types' numbers
    name = text.drop_back(2);
    type = static_cast<AttributeProto::AttributeType>(letters.find(text.back()));
  }

  bool isRequired;
  StringRef name;
  AttributeProto::AttributeType type;
};

class NodeCheck {
public:
  NodeCheck(const NodeProto &node, const OpSignature &signature, int64_t version, const FunctionAttributes *function)
      : node(node), signature(signature), version(version), function(function) {
    for (StringRef text : llvm::split(signature.attributes, ' '))
      if (!text.empty())
        attributes.emplace_back(text);
  }

  SmallVector<std::string> run() {
    if (!isUtf8(node.name()))
      add("expects a name in UTF-8");
    checkInputs();
    checkCount("output", node.output_size(), signature.leastOutputs, signature.mostOutputs, node.output_size());
    llvm::StringMap<const AttributeProto *> known;
    for (const AttributeProto &attribute : node.attribute())
      if (const AttributeProto *value = checkAttribute(attribute, known))
        known[attribute.name()] = value;
    for (const AttributeSignature &attribute : attributes)
      if (attribute.isRequired && !known.contains(attribute.name))
        add("expects attribute '" + attribute.name + "', got none");
    return std::move(mistakes);
  }

private:
  void add(const Twine &mistake) { mistakes.push_back(mistake.str()); }

  void checkCount(StringRef what, int got, int least, int most, int used) {
    auto several = [&](int count) { return (Twine(count) + " " + what + (count == 1 ? "" : "s")).str(); };
    if (got < least)
      add("expects at least " + several(least) + ", got " + Twine(got));
    else if (most >= 0 && used > most)
      add("expects at most " + several(most) + " in version " + Twine(version) + ", got " + Twine(used));
  }

  void checkInputs() {
    int used = node.input_size(); // empty names at the end do not count
    while (used > 0 && node.input(used - 1).empty())
      --used;
    checkCount("input", node.input_size(), signature.leastInputs, signature.mostInputs, used);
    SmallVector<StringRef> formals;
    StringRef(signature.inputs).split(formals, ' ', -1, /*KeepEmpty=*/false);
    for (int index = 0; index < std::min<int>(node.input_size(), formals.size()); ++index)
      if (formals[index].size() == 1 && node.input(index).empty())
        add("expects at least " + Twine(index + 1) + " inputs, but input " + Twine(index) + " is missing");
  }

  /// The attribute that counts, which is the function's where the node refers to one; null where there is none.
  const AttributeProto *checkAttribute(const AttributeProto &attribute,
                                       const llvm::StringMap<const AttributeProto *> &known) {
    StringRef name = attribute.name();
    if (name.empty())
      return add("expects each attribute to have a name, got one without"), nullptr;
    if (known.contains(name))
      add("expects attribute '" + name + "' once, got it twice");
    auto signatureOf = llvm::find_if(attributes, [&](const AttributeSignature &other) { return other.name == name; });
    if (signatureOf == attributes.end()) {
      if (!name.starts_with("__")) // some tool's own
        add("expects " + describeAttributes() + " in version " + Twine(version) + ", got '" + name + "'");
      return nullptr;
    }
    const AttributeProto *value = &attribute;
    if (StringRef outer = attribute.ref_attr_name(); !outer.empty()) {
      if (!function)
        add("expects attribute '" + name + "' to have a value, but it refers to '" + outer +
            "' of a function, and the node stands in none");
      else if (!function->contains(outer))
        add("expects attribute '" + name + "' to refer to one of the function, which has no '" + outer + "'");
      value = function ? function->lookup(outer) : nullptr;
      if (!value) // the call leaves it out: the default counts
        return nullptr;
    }
    checkValue(name, *value, signatureOf->type);
    return value;
  }

  void checkValue(StringRef name, const AttributeProto &value, AttributeProto::AttributeType type) {
    const AttributeProto::AttributeType got = getType(value);
    const SmallVector<AttributeProto::AttributeType> fields = getFields(value);
    // An empty list has no element to know it by, and some writers leave out a zero.
    if (got != type && got != AttributeProto::UNDEFINED)
      return add("expects attribute '" + name + "' to be " + spell(type) + ", got " + spell(got));
    if (fields.size() > 1)
      return add("expects attribute '" + name + "' to have one value, got " + spell(fields[0]) + " and " +
                 spell(fields[1]));
    if (!fields.empty() && fields[0] != type)
      add("expects attribute '" + name + "' to be " + spell(type) + ", as its type says, got " + spell(fields[0]));
  }

  std::string describeAttributes() const {
    SmallVector<StringRef> names;
    for (const AttributeSignature &attribute : attributes)
      names.push_back(attribute.name);
    return names.empty() ? "no attribute" : "no attributes but " + llvm::join(names, ", ");
  }

  const NodeProto &node;
  const OpSignature &signature;
  const int64_t version;
  const FunctionAttributes *function;
  SmallVector<AttributeSignature> attributes;
  SmallVector<std::string> mistakes;
};

} // namespace

SmallVector<std::string> findMistakes(const NodeProto &node, const OpSignature &signature, int64_t version,
                                      const FunctionAttributes *function) {
  return NodeCheck(node, signature, version, function).run();
}

//===-- Types ---------------------------------------------------------------------------------===//

namespace {

/// The types that one parameter accepts.
struct ParameterType {
  char letter;
  bool isList, isMixed;
  uint64_t tensors = 0, sequences = 0;
  bool takesOptionals = false;

  bool takes(Type type) const {
    auto sequence = dyn_cast<SequenceType>(type);
    Type elementType = cast<TensorType>(sequence ? sequence.getElementType() : type).getElementType();
    return (sequence ? sequences : tensors) >> getDataType(elementType) & 1;
  }
};

} // namespace

static std::optional<ParameterType> getParameter(const OpSignature &signature, unsigned index) {
  SmallVector<StringRef> formals;
  StringRef(signature.inputs).split(formals, ' ', -1, /*KeepEmpty=*/false);
  if (formals.empty())
    return std::nullopt;
  const StringRef formal = formals[std::min<size_t>(index, formals.size() - 1)];
  ParameterType parameter{formal.front(), index >= formals.size() || formal.ends_with("*"), formal.ends_with("~")};
  for (StringRef text : llvm::split(signature.types, ' ')) {
    if (text.front() != parameter.letter)
      continue;
    SmallVector<StringRef> kinds;
    text.drop_front(2).split(kinds, '/');
    (void)kinds[0].getAsInteger(16, parameter.tensors);
    if (kinds.size() > 1)
      (void)kinds[1].getAsInteger(16, parameter.sequences);
    parameter.takesOptionals = kinds.size() > 2;
  }
  return parameter;
}

/// "f32, f64 or a sequence of f32".
static std::string describeTaken(const ParameterType &parameter, MLIRContext *context) {
  SmallVector<std::string> names;
  auto append = [&](uint64_t types, StringRef prefix) {
    for (int32_t type = 1; type <= newestDataType; ++type)
      if (types >> type & 1 && type != TensorProto::COMPLEX64 && type != TensorProto::COMPLEX128 && !hasSixBits(type))
        names.push_back(prefix.str() + describeType(getElementType(context, type, "")));
  };
  append(parameter.tensors, "");
  append(parameter.sequences, "a sequence of ");
  const std::string last = names.pop_back_val();
  return names.empty() ? last : llvm::join(names, ", ") + " or " + last;
}

void checkInputTypes(const OpSignature &signature, int64_t version, ArrayRef<InputType> inputs) {
  const OpSignature &newest = getVersions(signature.domain, signature.name).back();
  llvm::DenseMap<char, InputType> firsts;
  for (const InputType &input : inputs) {
    const std::optional<ParameterType> parameter = getParameter(signature, input.index);
    if (!parameter || parameter->takesOptionals || !isa<SequenceType, RankedTensorType>(input.type))
      continue;
    // Versions differ in the types that they accept, and seldom in their results. So types of later versions are
    // accepted.
    if (!parameter->takes(input.type))
      if (auto later = getParameter(newest, input.index); newest.isDeprecated || !later || !later->takes(input.type))
        throwInvalid("expects " + describeTaken(*parameter, input.type.getContext()) + " as input " +
                     Twine(input.index) + " in version " + Twine(version) + ", got " + describe(input.type));
    if (parameter->isMixed)
      continue;
    auto [first, isNew] = firsts.try_emplace(parameter->letter, input);
    auto kindOf = [](Type type) {
      auto sequence = dyn_cast<SequenceType>(type);
      return std::pair(bool(sequence), cast<TensorType>(sequence ? sequence.getElementType() : type).getElementType());
    };
    if (!isNew && kindOf(first->second.type) != kindOf(input.type))
      throwInvalid("expects inputs " + Twine(first->second.index) + " and " + Twine(input.index) +
                   " of one type, got " + describe(first->second.type) + " and " + describe(input.type));
  }
}

} // namespace vx::onnx
