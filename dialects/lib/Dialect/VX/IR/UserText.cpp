#include "vx/Dialect/VX/IR/UserText.h"

#include "mlir/AsmParser/AsmParser.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace vx {

static std::string describeElement(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto integer = dyn_cast<IntegerType>(type); integer && integer.getWidth() == 1)
    os << "bool";
  else if (integer)
    os << (integer.isUnsigned() ? 'u' : 'i') << integer.getWidth();
  else if (isa<StringType>(type))
    os << "string";
  else
    os << type;
  return text;
}

std::string describeType(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return "sequence of " + describeType(sequence.getElementType());
  if (auto optional = dyn_cast<OptionalType>(type))
    return "optional " + describeType(optional.getValueType());
  if (auto unranked = dyn_cast<UnrankedTensorType>(type))
    return describeElement(unranked.getElementType()) + "[...]";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return describeElement(type);
  std::string text = describeElement(tensor.getElementType()) + "[";
  llvm::ListSeparator separator(",");
  for (DimAttr dim : getDims(tensor))
    text += llvm::StringRef(separator).str() + (dim ? dim.str() : "?");
  return text + "]";
}

std::string describeStrategy(StrategyAttrInterface strategy) {
  std::string text;
  llvm::raw_string_ostream(text) << Attribute(strategy);
  StringRef name = strategy.getStrategyName(), fields = StringRef(text).split('<').second;
  fields.consume_back(">");
  return fields.empty() ? name.str() : (name + ", " + fields).str();
}

static std::string describeAttribute(Attribute attribute) {
  if (auto dim = dyn_cast<DimAttr>(attribute))
    return dim.str();
  if (auto type = dyn_cast<TypeAttr>(attribute))
    return describeType(type.getValue());
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return llvm::toString(number.getValue(), 10, /*Signed=*/true);
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    std::string text = "[";
    llvm::ListSeparator separator;
    for (Attribute element : list)
      text += StringRef(separator).str() + describeAttribute(element);
    return text + "]";
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  attribute.print(os, /*elideType=*/true);
  return text;
}

/// The length of the type that `text` begins with as the compiler prints it, 0 where it begins with none.
static size_t matchPrintedType(StringRef text) {
  if (!text.starts_with("tensor<") && !text.starts_with("!vx."))
    return 0;
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<')
      ++depth;
    else if (text[i] == '>' && depth > 0 && --depth == 0)
      return i + 1;
    else if (depth == 0 && !llvm::isAlnum(text[i]) && text[i] != '!' && text[i] != '.' && text[i] != '_')
      return i;
  }
  return depth == 0 ? text.size() : 0;
}

/// The type's words, or the text itself where it is no type. A context of its own: who handles a diagnostic cannot make
/// others.
static std::string describePrintedType(StringRef text) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<VXDialect>();
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  Type type = parseType(text, &context);
  return type ? describeType(type) : text.str();
}

/// Types that were printed before they came into a message.
static std::string describePrintedTypes(StringRef text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t length = matchPrintedType(text.substr(i));
    result += length > 0 ? describePrintedType(text.substr(i, length)) : text.substr(i, 1).str();
    i += std::max<size_t>(length, 1);
  }
  return result;
}

std::string describeDiagnostic(Diagnostic &diagnostic) {
  MLIRContext *context = diagnostic.getLocation().getContext();
  std::string text;
  llvm::raw_string_ostream os(text);
  for (DiagnosticArgument &argument : diagnostic.getArguments()) {
    switch (argument.getKind()) {
    case DiagnosticArgument::DiagnosticArgumentKind::Type:
      os << "'" << describeType(argument.getAsType()) << "'";
      break;
    case DiagnosticArgument::DiagnosticArgumentKind::Attribute:
      os << describeAttribute(argument.getAsAttribute());
      break;
    case DiagnosticArgument::DiagnosticArgumentKind::String:
      // An operation's name comes as a word of its own.
      if (RegisteredOperationName::lookup(argument.getAsString(), context) && text != "'")
        os << argument.getAsString().split('.').second;
      else
        os << describePrintedTypes(argument.getAsString());
      break;
    default:
      os << argument;
    }
  }
  // "'vx.add' op " is what Operation::emitOpError puts in front.
  StringRef rest = text;
  if (rest.consume_front("'")) {
    auto [name, message] = rest.split("' op ");
    if (!message.empty() && llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '.' || c == '_'; }))
      return message.str();
  }
  return text;
}

void emitNote(Location loc, const Twine &text) {
  // DiagnosticEngine::emit(Location, DiagnosticSeverity) takes notes for parts of other diagnostics, and asserts it.
  Diagnostic note(loc, DiagnosticSeverity::Note);
  note << text;
  loc->getContext()->getDiagEngine().emit(std::move(note));
}

std::string escapeControlCharacters(StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream os(escaped);
  auto escape = [&](unsigned char c) { os << "\\x" << llvm::format_hex_no_prefix(c, 2); };
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i], next = i + 1 < text.size() ? text[i + 1] : 0;
    if (c < 0x20 || c == 0x7f) {
      escape(c);
    } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) { // the control characters above ASCII, in UTF-8
      escape(c);
      escape(next);
      ++i;
    } else {
      os << static_cast<char>(c);
    }
  }
  return escaped;
}

} // namespace vx
