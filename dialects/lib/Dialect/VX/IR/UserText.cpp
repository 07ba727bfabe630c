#include "vx/Dialect/VX/IR/UserText.h"

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

std::string describeDiagnostic(Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (DiagnosticArgument &argument : diagnostic.getArguments()) {
    if (argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::Type)
      os << "'" << describeType(argument.getAsType()) << "'";
    else
      os << argument;
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
