// Dimension expressions as polynomials: what the algebra (DimAttr.cpp) and the proofs (DimProof.cpp) compute with.
#ifndef VX_LIB_DIALECT_VX_IR_DIMPOLYNOMIAL_H
#define VX_LIB_DIALECT_VX_IR_DIMPOLYNOMIAL_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include <map>

namespace vx {

/// A total order that does not depend on addresses, so that text is the same in every run: below 0, 0 or above 0.
int compareDims(DimAttr lhs, DimAttr rhs);

/// Atoms that are multiplied, in the order of `compareDims`; none for a constant.
using Monomial = llvm::SmallVector<DimAttr, 2>;

struct MonomialLess {
  bool operator()(const Monomial &lhs, const Monomial &rhs) const;
};

/// The coefficient of each product of atoms; 0 is one too.
using Polynomial = std::map<Monomial, int64_t, MonomialLess>;

/// False where the coefficient does not fit 64 bits.
bool addTo(Polynomial &polynomial, const Monomial &monomial, int64_t coefficient);
/// Adds `dim` * `scale` to `out`; false where a coefficient does not fit 64 bits.
bool toPolynomial(DimAttr dim, int64_t scale, Polynomial &out);

/// The divisor of a division or remainder, where it is a constant above 0.
std::optional<int64_t> getPositiveDivisor(DimAttr dim);

} // namespace vx

#endif
