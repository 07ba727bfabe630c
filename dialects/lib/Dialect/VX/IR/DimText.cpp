// The text of dimension expressions.

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx {

/// An identifier, or an element of a list: "sizes[2]", "picked.shape[0]".
static bool isBareName(StringRef name) {
  static const StringRef keywords[] = {"floordiv", "ceildiv", "mod", "max", "min", "broadcast"};
  if (name.consume_back("]")) {
    StringRef index = name.rsplit('[').second;
    if (index.size() == name.size() || index.empty() || index.size() > 9 || !llvm::all_of(index, llvm::isDigit) ||
        (index.size() > 1 && index.front() == '0'))
      return false;
    name = name.drop_back(index.size() + 1);
  }
  if (name.empty() || llvm::is_contained(keywords, name) || !(isalpha(name[0]) || name[0] == '_'))
    return false;
  return llvm::all_of(name, [](char c) { return isalnum(c) || c == '_' || c == '.'; });
}

static void print(DimAttr dim, raw_ostream &os) {
  switch (dim.getKind()) {
  case DimKind::Constant:
    os << dim.getValue();
    return;
  case DimKind::Symbol:
    if (isBareName(dim.getSymbol().getValue()))
      os << dim.getSymbol().getValue();
    else
      os << dim.getSymbol();
    return;
  case DimKind::Sum: {
    bool first = true;
    for (DimAttr term : dim.getOperands()) {
      bool negative = (term.getKind() == DimKind::Constant || term.getKind() == DimKind::Product) &&
                      term.getValue() < 0 && term.getValue() != INT64_MIN;
      if (!first)
        os << (negative ? " - " : " + ");
      if (!first && negative)
        term = term * -1;
      print(term, os);
      first = false;
    }
    return;
  }
  case DimKind::Product: {
    bool first = true;
    for (DimAttr factor : dim.getOperands()) {
      if (!first)
        os << " * ";
      bool parenthesise = factor.getKind() == DimKind::Sum || factor.getKind() == DimKind::Product;
      os << (parenthesise ? "(" : "");
      print(factor, os);
      os << (parenthesise ? ")" : "");
      first = false;
    }
    if (dim.getValue() != 1)
      os << " * " << dim.getValue();
    return;
  }
  case DimKind::FloorDiv:
    os << "floordiv(";
    break;
  case DimKind::CeilDiv:
    os << "ceildiv(";
    break;
  case DimKind::Mod:
    os << "mod(";
    break;
  case DimKind::Max:
    os << "max(";
    break;
  case DimKind::Min:
    os << "min(";
    break;
  case DimKind::Broadcast:
    os << "broadcast(";
    break;
  }
  print(dim.getOperands()[0], os);
  os << ", ";
  print(dim.getOperands()[1], os);
  os << ")";
}

std::string DimAttr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  vx::print(*this, os);
  return text;
}

static FailureOr<DimAttr> parseDim(AsmParser &parser, int depth = 0);

/// Returns the next character of the text in quotes, or "the end of the text".
static std::string describeNext(AsmParser &parser) {
  // MLIR's buffers end with 0.
  char next = *parser.getCurrentLocation().getPointer();
  return next == 0 ? "the end of the text" : std::string("'") + next + "'";
}

static FailureOr<DimAttr> parseFactor(AsmParser &parser, int depth) {
  MLIRContext *context = parser.getContext();
  if (depth > 64) {
    (void)parser.emitError(parser.getCurrentLocation(),
                           "expects a dimension expression of at most 64 nested levels, got more");
    return failure();
  }
  int64_t value;
  if (OptionalParseResult parsed = parser.parseOptionalInteger(value); parsed.has_value()) {
    if (failed(*parsed))
      return failure();
    return DimAttr::constant(context, value);
  }
  std::string quoted;
  if (succeeded(parser.parseOptionalString(&quoted)))
    return DimAttr::symbolNamed(context, quoted);
  if (succeeded(parser.parseOptionalLParen())) {
    FailureOr<DimAttr> inner = parseDim(parser, depth + 1);
    if (failed(inner) || parser.parseRParen())
      return failure();
    return inner;
  }
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name))) {
    parser.emitError(parser.getCurrentLocation(), "expects a dimension: an integer, a symbol or '(', got ")
        << describeNext(parser);
    return failure();
  }
  using Combine = DimAttr (*)(DimAttr, DimAttr);
  Combine combine = llvm::StringSwitch<Combine>(name)
                        .Case("floordiv", &DimAttr::floorDiv)
                        .Case("ceildiv", &DimAttr::ceilDiv)
                        .Case("mod", &DimAttr::mod)
                        .Case("max", &DimAttr::max)
                        .Case("min", &DimAttr::min)
                        .Case("broadcast", &DimAttr::broadcast)
                        .Default(nullptr);
  if (!combine) {
    std::string whole = name.str();
    if (succeeded(parser.parseOptionalLSquare())) {
      uint32_t index;
      if (parser.parseInteger(index) || parser.parseRSquare())
        return failure();
      whole += "[" + std::to_string(index) + "]";
    }
    return DimAttr::symbolNamed(context, whole);
  }
  if (parser.parseLParen())
    return failure();
  FailureOr<DimAttr> lhs = parseDim(parser, depth + 1);
  if (failed(lhs) || parser.parseComma())
    return failure();
  FailureOr<DimAttr> rhs = parseDim(parser, depth + 1);
  if (failed(rhs) || parser.parseRParen())
    return failure();
  return combine(*lhs, *rhs);
}

static FailureOr<DimAttr> parseTerm(AsmParser &parser, int depth) {
  FailureOr<DimAttr> product = parseFactor(parser, depth);
  while (succeeded(product) && succeeded(parser.parseOptionalStar())) {
    FailureOr<DimAttr> factor = parseFactor(parser, depth);
    if (failed(factor))
      return failure();
    product = *product * *factor;
  }
  return product;
}

static FailureOr<DimAttr> parseDim(AsmParser &parser, int depth) {
  FailureOr<DimAttr> sum = parseTerm(parser, depth);
  while (succeeded(sum)) {
    bool plus = succeeded(parser.parseOptionalPlus());
    if (!plus && failed(parser.parseOptionalMinus()))
      break;
    FailureOr<DimAttr> term = parseTerm(parser, depth);
    if (failed(term))
      return failure();
    sum = plus ? *sum + *term : *sum - *term;
  }
  return sum;
}

Attribute DimAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<DimAttr> dim = parseDim(parser);
  if (failed(dim) || parser.parseGreater())
    return {};
  return *dim;
}

void DimAttr::print(AsmPrinter &printer) const { printer << "<" << str() << ">"; }

DimAttr DimAttr::fromString(MLIRContext *context, StringRef text) {
  context->getOrLoadDialect<VXDialect>();
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  return llvm::dyn_cast_or_null<DimAttr>(parseAttribute(("#vx.dim<" + text + ">").str(), context));
}

//===-- Encoding ------------------------------------------------------------------------------===//

Attribute EncodingAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimAttr> dims;
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        FailureOr<DimAttr> dim = parseDim(parser);
        if (failed(dim))
          return failure();
        dims.push_back(*dim);
        return success();
      }))
    return {};
  if (parser.parseGreater())
    return {};
  return EncodingAttr::get(parser.getContext(), dims);
}

void EncodingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](DimAttr dim) { printer << dim.str(); });
  printer << "]>";
}

} // namespace vx
