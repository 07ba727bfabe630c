// The algebra of dimension expressions: a normal form as sums of products over atoms.
//
// An atom is a symbol or a division, remainder, max or min. A polynomial maps each product of atoms to its coefficient;
// expressions are built through polynomials, so that equal ones become the same attribute.

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;

namespace vx {

namespace {

/// A total order that does not depend on addresses, so that text is the same in every run.
int compare(DimAttr lhs, DimAttr rhs) {
  if (lhs == rhs)
    return 0;
  if (lhs.getKind() != rhs.getKind())
    return lhs.getKind() < rhs.getKind() ? -1 : 1;
  if (lhs.getKind() == DimKind::Symbol)
    return lhs.getSymbol().getValue().compare(rhs.getSymbol().getValue());
  if (lhs.getValue() != rhs.getValue())
    return lhs.getValue() < rhs.getValue() ? -1 : 1;
  if (lhs.getOperands().size() != rhs.getOperands().size())
    return lhs.getOperands().size() < rhs.getOperands().size() ? -1 : 1;
  for (auto [l, r] : llvm::zip(lhs.getOperands(), rhs.getOperands()))
    if (int order = compare(l, r))
      return order;
  return 0;
}

using Monomial = SmallVector<DimAttr, 2>;

struct MonomialLess {
  bool operator()(const Monomial &lhs, const Monomial &rhs) const {
    // Higher degree first, so that a constant comes last: `batch*8 + 3`.
    if (lhs.size() != rhs.size())
      return lhs.size() > rhs.size();
    for (auto [l, r] : llvm::zip(lhs, rhs))
      if (int order = compare(l, r))
        return order < 0;
    return false;
  }
};

using Polynomial = std::map<Monomial, int64_t, MonomialLess>;

bool addTo(Polynomial &polynomial, const Monomial &monomial, int64_t coefficient) {
  int64_t &slot = polynomial[monomial];
  return !llvm::AddOverflow(slot, coefficient, slot);
}

bool toPolynomial(DimAttr dim, int64_t scale, Polynomial &out) {
  switch (dim.getKind()) {
  case DimKind::Constant: {
    int64_t value;
    return !llvm::MulOverflow(dim.getValue(), scale, value) && addTo(out, {}, value);
  }
  case DimKind::Sum:
    return llvm::all_of(dim.getOperands(), [&](DimAttr term) { return toPolynomial(term, scale, out); });
  case DimKind::Product: {
    int64_t value;
    return !llvm::MulOverflow(dim.getValue(), scale, value) &&
           addTo(out, Monomial(dim.getOperands().begin(), dim.getOperands().end()), value);
  }
  default:
    return addTo(out, {dim}, scale);
  }
}

/// The parts of a nest of max or of min.
void collectParts(DimAttr dim, DimKind kind, SmallVectorImpl<DimAttr> &parts) {
  if (dim.getKind() != kind)
    return parts.push_back(dim);
  for (DimAttr operand : dim.getOperands())
    collectParts(operand, kind, parts);
}

/// A sum with a max in it is a max of sums, so that its parts can be compared one by one; not when there are many.
constexpr size_t kMostParts = 32;

DimAttr fromPolynomial(MLIRContext *context, const Polynomial &polynomial) {
  for (const auto &[monomial, coefficient] : polynomial) {
    if (polynomial.size() == 1 || coefficient != 1 || monomial.size() != 1 || monomial[0].getKind() != DimKind::Max)
      continue;
    Polynomial others = polynomial;
    others.erase(monomial);
    DimAttr rest = fromPolynomial(context, others), greatest;
    SmallVector<DimAttr> left, right;
    collectParts(monomial[0], DimKind::Max, left);
    collectParts(rest, DimKind::Max, right);
    if (left.size() * right.size() > kMostParts)
      break;
    for (DimAttr l : left)
      for (DimAttr r : right)
        greatest = greatest ? DimAttr::max(greatest, l + r) : l + r;
    return greatest;
  }
  SmallVector<DimAttr> terms;
  for (const auto &[monomial, coefficient] : polynomial) {
    if (coefficient == 0)
      continue;
    if (monomial.empty())
      terms.push_back(DimAttr::constant(context, coefficient));
    else if (monomial.size() == 1 && coefficient == 1)
      terms.push_back(monomial.front());
    else
      terms.push_back(DimAttr::get(context, DimKind::Product, coefficient, StringAttr(), monomial));
  }
  if (terms.empty())
    return DimAttr::constant(context, 0);
  if (terms.size() == 1)
    return terms.front();
  return DimAttr::get(context, DimKind::Sum, 0, StringAttr(), terms);
}

/// An expression whose coefficients do not fit 64 bits; kept as it is written, as an atom that nothing simplifies.
DimAttr getAtom(DimKind kind, DimAttr lhs, DimAttr rhs) {
  return DimAttr::get(lhs.getContext(), kind, 0, StringAttr(), {lhs, rhs});
}

int64_t floorDivide(int64_t lhs, int64_t rhs) { return llvm::divideFloorSigned(lhs, rhs); }
int64_t ceilDivide(int64_t lhs, int64_t rhs) { return llvm::divideCeilSigned(lhs, rhs); }

/// lhs / divisor when every coefficient is a multiple of the divisor.
DimAttr divideExactly(DimAttr lhs, int64_t divisor) {
  Polynomial polynomial;
  if (!toPolynomial(lhs, 1, polynomial))
    return {};
  for (auto &[monomial, coefficient] : polynomial) {
    if (coefficient % divisor != 0)
      return {};
    coefficient /= divisor;
  }
  return fromPolynomial(lhs.getContext(), polynomial);
}

/// lhs / rhs when rhs is one product that divides every term, e.g. (batch*seq*8) / (seq*4). Right for a divisor that is
/// not 0, and a division by 0 is an error of the call wherever the quotient is used.
DimAttr divideByProduct(DimAttr lhs, DimAttr rhs) {
  Polynomial divisor, dividend;
  if (!toPolynomial(rhs, 1, divisor) || !toPolynomial(lhs, 1, dividend) || divisor.size() != 1)
    return {};
  const auto &[factors, scale] = *divisor.begin();
  // A division of the least integer by -1 does not fit.
  if (scale == 0 || scale == -1)
    return {};
  Polynomial quotient;
  for (const auto &[monomial, coefficient] : dividend) {
    if (coefficient % scale != 0)
      return {};
    Monomial rest = monomial;
    for (DimAttr factor : factors) {
      auto it = llvm::find(rest, factor);
      if (it == rest.end())
        return {};
      rest.erase(it);
    }
    quotient[rest] += coefficient / scale;
  }
  return fromPolynomial(lhs.getContext(), quotient);
}

/// The greatest (or least) of all parts, without those that another part makes superfluous, in one order.
DimAttr getExtremum(DimKind kind, DimAttr lhs, DimAttr rhs) {
  SmallVector<DimAttr> parts, kept;
  collectParts(lhs, kind, parts);
  collectParts(rhs, kind, parts);
  auto covers = [&](DimAttr part, DimAttr other) {
    return kind == DimKind::Max ? other.isAtMost(part) : part.isAtMost(other);
  };
  for (DimAttr part : parts) {
    if (llvm::any_of(kept, [&](DimAttr other) { return covers(other, part); }))
      continue;
    llvm::erase_if(kept, [&](DimAttr other) { return covers(part, other); });
    kept.push_back(part);
  }
  llvm::sort(kept, [](DimAttr a, DimAttr b) { return compare(a, b) < 0; });
  DimAttr result = kept.pop_back_val();
  for (DimAttr part : llvm::reverse(kept))
    result = getAtom(kind, part, result);
  return result;
}

} // namespace

DimAttr DimAttr::constant(MLIRContext *context, int64_t value) {
  return get(context, DimKind::Constant, value, StringAttr(), {});
}
DimAttr DimAttr::symbolNamed(StringAttr name) { return get(name.getContext(), DimKind::Symbol, 0, name, {}); }
DimAttr DimAttr::symbolNamed(MLIRContext *context, StringRef name) {
  return symbolNamed(StringAttr::get(context, name));
}

DimAttr DimAttr::add(DimAttr lhs, DimAttr rhs) {
  Polynomial sum;
  if (!toPolynomial(lhs, 1, sum) || !toPolynomial(rhs, 1, sum))
    return get(lhs.getContext(), DimKind::Sum, 0, StringAttr(), {lhs, rhs});
  return fromPolynomial(lhs.getContext(), sum);
}

DimAttr DimAttr::sub(DimAttr lhs, DimAttr rhs) { return add(lhs, mul(rhs, constant(rhs.getContext(), -1))); }

DimAttr DimAttr::mul(DimAttr lhs, DimAttr rhs) {
  Polynomial left, right, product;
  bool fits = toPolynomial(lhs, 1, left) && toPolynomial(rhs, 1, right);
  for (const auto &[lhsMonomial, lhsCoefficient] : left)
    for (const auto &[rhsMonomial, rhsCoefficient] : right) {
      Monomial monomial = lhsMonomial;
      llvm::append_range(monomial, rhsMonomial);
      llvm::sort(monomial, [](DimAttr a, DimAttr b) { return compare(a, b) < 0; });
      int64_t coefficient;
      fits = fits && !llvm::MulOverflow(lhsCoefficient, rhsCoefficient, coefficient) &&
             addTo(product, monomial, coefficient);
    }
  if (!fits)
    return get(lhs.getContext(), DimKind::Product, 1, StringAttr(), {lhs, rhs});
  return fromPolynomial(lhs.getContext(), product);
}

DimAttr DimAttr::floorDiv(DimAttr lhs, DimAttr rhs) {
  auto l = lhs.asConstant(), r = rhs.asConstant();
  if (l && r && *r != 0 && !(*l == INT64_MIN && *r == -1))
    return constant(lhs.getContext(), floorDivide(*l, *r));
  if (r == 1)
    return lhs;
  if (r && *r > 1)
    if (DimAttr quotient = divideExactly(lhs, *r))
      return quotient;
  if (DimAttr quotient = divideByProduct(lhs, rhs))
    return quotient;
  return getAtom(DimKind::FloorDiv, lhs, rhs);
}

DimAttr DimAttr::ceilDiv(DimAttr lhs, DimAttr rhs) {
  auto l = lhs.asConstant(), r = rhs.asConstant();
  if (l && r && *r != 0 && !(*l == INT64_MIN && *r == -1))
    return constant(lhs.getContext(), ceilDivide(*l, *r));
  if (r == 1)
    return lhs;
  if (r && *r > 1)
    if (DimAttr quotient = divideExactly(lhs, *r))
      return quotient;
  if (DimAttr quotient = divideByProduct(lhs, rhs))
    return quotient;
  return getAtom(DimKind::CeilDiv, lhs, rhs);
}

DimAttr DimAttr::mod(DimAttr lhs, DimAttr rhs) {
  auto l = lhs.asConstant(), r = rhs.asConstant();
  if (l && r && *r != 0 && !(*l == INT64_MIN && *r == -1))
    return constant(lhs.getContext(), *l - floorDivide(*l, *r) * *r);
  if (r && *r > 0 && divideExactly(lhs, *r))
    return constant(lhs.getContext(), 0);
  return getAtom(DimKind::Mod, lhs, rhs);
}

DimAttr DimAttr::max(DimAttr lhs, DimAttr rhs) { return getExtremum(DimKind::Max, lhs, rhs); }
DimAttr DimAttr::min(DimAttr lhs, DimAttr rhs) { return getExtremum(DimKind::Min, lhs, rhs); }

bool DimAttr::isAtMost(DimAttr other) const {
  if (*this == other)
    return true;
  auto parts = [](DimAttr dim, DimKind kind) {
    return dim.getKind() == kind ? dim.getOperands() : ArrayRef<DimAttr>();
  };
  if (llvm::any_of(parts(other, DimKind::Max), [&](DimAttr part) { return isAtMost(part); }) ||
      llvm::any_of(parts(*this, DimKind::Min), [&](DimAttr part) { return part.isAtMost(other); }))
    return true;
  if (getKind() == DimKind::Max && llvm::all_of(getOperands(), [&](DimAttr part) { return part.isAtMost(other); }))
    return true;
  // other - this has no negative coefficient, and its atoms are not negative: symbols by their declaration; of the
  // other atoms only those made of such parts count.
  Polynomial difference;
  if (!toPolynomial(other, 1, difference) || !toPolynomial(*this, -1, difference))
    return false;
  auto isNotNegative = [](DimAttr atom, auto &&self) -> bool {
    switch (atom.getKind()) {
    case DimKind::Constant:
    case DimKind::Product:
      return atom.getValue() >= 0 && llvm::all_of(atom.getOperands(), [&](DimAttr a) { return self(a, self); });
    case DimKind::Symbol:
      return true;
    case DimKind::Max:
      return llvm::any_of(atom.getOperands(), [&](DimAttr a) { return self(a, self); });
    case DimKind::Mod: // has the sign of the divisor
      return self(atom.getOperands()[1], self);
    default:
      return llvm::all_of(atom.getOperands(), [&](DimAttr a) { return self(a, self); });
    }
  };
  return llvm::all_of(difference, [&](const auto &term) {
    return term.second >= 0 &&
           (term.second == 0 || llvm::all_of(term.first, [&](DimAttr a) { return isNotNegative(a, isNotNegative); }));
  });
}

std::optional<int64_t> DimAttr::asConstant() const {
  return getKind() == DimKind::Constant ? std::optional(getValue()) : std::nullopt;
}

StringAttr DimAttr::asSymbol() const { return getKind() == DimKind::Symbol ? getSymbol() : StringAttr(); }

void DimAttr::collectSymbols(SetVector<StringAttr> &symbols) const {
  if (getKind() == DimKind::Symbol)
    symbols.insert(getSymbol());
  for (DimAttr operand : getOperands())
    operand.collectSymbols(symbols);
}

DimAttr DimAttr::substitute(function_ref<DimAttr(StringAttr)> replacement) const {
  MLIRContext *context = getContext();
  auto operand = [&](unsigned index) { return getOperands()[index].substitute(replacement); };
  switch (getKind()) {
  case DimKind::Constant:
    return *this;
  case DimKind::Symbol: {
    DimAttr value = replacement(getSymbol());
    return value ? value : *this;
  }
  case DimKind::Sum: {
    DimAttr sum = constant(context, 0);
    for (unsigned i = 0; i < getOperands().size(); ++i)
      sum = sum + operand(i);
    return sum;
  }
  case DimKind::Product: {
    DimAttr product = constant(context, getValue());
    for (unsigned i = 0; i < getOperands().size(); ++i)
      product = product * operand(i);
    return product;
  }
  case DimKind::FloorDiv:
    return floorDiv(operand(0), operand(1));
  case DimKind::CeilDiv:
    return ceilDiv(operand(0), operand(1));
  case DimKind::Mod:
    return mod(operand(0), operand(1));
  case DimKind::Max:
    return max(operand(0), operand(1));
  case DimKind::Min:
    return min(operand(0), operand(1));
  }
  llvm_unreachable("all kinds are handled");
}

std::optional<int64_t> DimAttr::evaluate(function_ref<std::optional<int64_t>(StringRef)> valueOf) const {
  if (getKind() == DimKind::Constant)
    return getValue();
  if (getKind() == DimKind::Symbol)
    return valueOf(getSymbol());
  SmallVector<int64_t> values;
  for (DimAttr operand : getOperands()) {
    std::optional<int64_t> value = operand.evaluate(valueOf);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  int64_t result = getKind() == DimKind::Product ? getValue() : 0;
  switch (getKind()) {
  case DimKind::Sum:
    for (int64_t value : values)
      if (llvm::AddOverflow(result, value, result))
        return std::nullopt;
    return result;
  case DimKind::Product:
    for (int64_t value : values)
      if (llvm::MulOverflow(result, value, result))
        return std::nullopt;
    return result;
  case DimKind::Max:
    return std::max(values[0], values[1]);
  case DimKind::Min:
    return std::min(values[0], values[1]);
  default:
    break;
  }
  if (values[1] == 0 || (values[0] == INT64_MIN && values[1] == -1))
    return std::nullopt;
  int64_t quotient = floorDivide(values[0], values[1]);
  if (getKind() == DimKind::FloorDiv)
    return quotient;
  if (getKind() == DimKind::CeilDiv)
    return ceilDivide(values[0], values[1]);
  return values[0] - quotient * values[1];
}

//===-- Text
//-------------------------------------------------------------------------------------------------------===//

static bool isBareName(StringRef name) {
  static const StringRef keywords[] = {"floordiv", "ceildiv", "mod", "max", "min"};
  if (name.empty() || llvm::is_contained(keywords, name) || !(isalpha(name[0]) || name[0] == '_'))
    return false;
  return llvm::all_of(name, [](char c) { return isalnum(c) || c == '_'; });
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

static FailureOr<DimAttr> parseFactor(AsmParser &parser, int depth) {
  MLIRContext *context = parser.getContext();
  if (depth > 64) {
    (void)parser.emitError(parser.getCurrentLocation(), "expects a dimension expression of at most 64 nested levels");
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
    (void)parser.emitError(parser.getCurrentLocation(), "expects a dimension: an integer, a symbol or '('");
    return failure();
  }
  using Combine = DimAttr (*)(DimAttr, DimAttr);
  Combine combine = llvm::StringSwitch<Combine>(name)
                        .Case("floordiv", &DimAttr::floorDiv)
                        .Case("ceildiv", &DimAttr::ceilDiv)
                        .Case("mod", &DimAttr::mod)
                        .Case("max", &DimAttr::max)
                        .Case("min", &DimAttr::min)
                        .Default(nullptr);
  if (!combine)
    return DimAttr::symbolNamed(context, name);
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

//===-- Encoding
//---------------------------------------------------------------------------------------------------===//

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
  LayoutAttr layout;
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("layout") || parser.parseEqual())
      return {};
    FailureOr<LayoutAttr> parsed = FieldParser<LayoutAttr>::parse(parser);
    if (failed(parsed))
      return {};
    layout = *parsed;
  }
  if (parser.parseGreater())
    return {};
  return EncodingAttr::get(parser.getContext(), dims, layout);
}

void EncodingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](DimAttr dim) { printer << dim.str(); });
  printer << "]";
  if (getLayout()) {
    printer << ", layout = ";
    printer.printStrippedAttrOrType(getLayout());
  }
  printer << ">";
}

} // namespace vx
