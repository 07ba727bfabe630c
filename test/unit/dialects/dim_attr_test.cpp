// The normal form of dimension expressions: whatever is written, its value stays.
#include "vx/Dialect/VX/IR/VXDialect.h"

#include "llvm/ADT/StringMap.h"
#include <ctime>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace vx;

namespace {

/// An expression as it is written, evaluated without any algebra.
struct Written {
  DimAttr dim;
  std::optional<int64_t> value; // nullopt: a division by zero, or beyond 64 bits
};

class Generator {
public:
  Generator(MLIRContext *context, unsigned seed) : context(context), random(seed) {
    for (const char *name : names)
      values[name] = pick(0, 9);
  }

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }

  Written make(int depth) {
    if (depth == 0 || pick(0, 5) == 0) {
      if (pick(0, 1)) {
        int64_t value = pick(-6, 6);
        return {DimAttr::constant(context, value), value};
      }
      const char *name = names[pick(0, 2)];
      return {DimAttr::symbolNamed(context, name), values[name]};
    }
    Written lhs = make(depth - 1), rhs = make(depth - 1);
    bool known = lhs.value && rhs.value;
    int64_t l = lhs.value.value_or(0), r = rhs.value.value_or(0);
    auto floorOf = [](int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); };
    switch (pick(0, 7)) {
    case 0:
      return {lhs.dim + rhs.dim, known ? std::optional(l + r) : std::nullopt};
    case 1:
      return {lhs.dim - rhs.dim, known ? std::optional(l - r) : std::nullopt};
    case 2:
      return {lhs.dim * rhs.dim, known ? std::optional(l * r) : std::nullopt};
    case 3:
      return {DimAttr::floorDiv(lhs.dim, rhs.dim), known && r ? std::optional(floorOf(l, r)) : std::nullopt};
    case 4:
      return {DimAttr::ceilDiv(lhs.dim, rhs.dim), known && r ? std::optional(-floorOf(-l, r)) : std::nullopt};
    case 5:
      return {DimAttr::mod(lhs.dim, rhs.dim), known && r ? std::optional(l - floorOf(l, r) * r) : std::nullopt};
    case 6:
      return {DimAttr::max(lhs.dim, rhs.dim), known ? std::optional(std::max(l, r)) : std::nullopt};
    default:
      return {DimAttr::min(lhs.dim, rhs.dim), known ? std::optional(std::min(l, r)) : std::nullopt};
    }
  }

  std::optional<int64_t> evaluate(DimAttr dim) {
    return dim.evaluate([&](StringRef name) -> std::optional<int64_t> { return values.lookup(name); });
  }

  llvm::StringMap<int64_t> values;

private:
  static constexpr const char *names[] = {"a", "b", "c"};
  MLIRContext *context;
  std::mt19937 random;
};

class DimAttrTest : public testing::Test {
protected:
  DimAttrTest() { context.loadDialect<VXDialect>(); }
  MLIRContext context;
};

TEST_F(DimAttrTest, NormalFormKeepsTheValue) {
  unsigned compared = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Generator generator(&context, seed);
    Written written = generator.make(4);
    if (!written.value)
      continue; // where a division by zero is written, the normal form may have cancelled it
    EXPECT_EQ(generator.evaluate(written.dim), written.value) << "seed " << seed << ": " << written.dim.str();
    ++compared;
  }
  EXPECT_GT(compared, 1500u);
}

TEST_F(DimAttrTest, TextReadsBackAsTheSameExpression) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    DimAttr dim = Generator(&context, seed).make(4).dim;
    EXPECT_EQ(DimAttr::fromString(&context, dim.str()), dim) << "seed " << seed << ": " << dim.str();
  }
}

TEST_F(DimAttrTest, SubstitutionIsEvaluation) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Generator generator(&context, seed);
    Written written = generator.make(4);
    DimAttr constant = written.dim.substitute(
        [&](StringAttr name) { return DimAttr::constant(&context, generator.values.lookup(name.getValue())); });
    if (std::optional<int64_t> value = generator.evaluate(written.dim)) {
      EXPECT_EQ(constant.asConstant(), value) << "seed " << seed << ": " << written.dim.str();
    }
  }
}

TEST_F(DimAttrTest, AtMostHoldsForAllValues) {
  unsigned proven = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Generator generator(&context, seed);
    Written lhs = generator.make(3), rhs = generator.make(3);
    if (!lhs.dim.isAtMost(rhs.dim))
      continue;
    ++proven;
    std::optional<int64_t> left = generator.evaluate(lhs.dim), right = generator.evaluate(rhs.dim);
    if (left && right) {
      EXPECT_LE(*left, *right) << "seed " << seed << ": " << lhs.dim.str() << " against " << rhs.dim.str();
    }
  }
  EXPECT_GT(proven, 100u);
}

/// Sizes of a chain of poolings that round up, each with its number of elements.
DimAttr pool(MLIRContext *context, int levels) {
  DimAttr size = DimAttr::symbolNamed(context, "h"), two = DimAttr::constant(context, 2), total = two;
  for (int level = 0; level < levels; ++level) {
    size = DimAttr::min(DimAttr::ceilDiv(size + 2, two) + 1, DimAttr::ceilDiv(size + 7, two)) + 3;
    total = DimAttr::max(total, size * size);
  }
  return total;
}

/// What `function` takes of this thread's time, in seconds.
double getSeconds(llvm::function_ref<void()> function) {
  timespec begin, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  function();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return double(end.tv_sec - begin.tv_sec) + double(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

// What a model's passes ask for again and again is computed once: operations, and which of two is never the greater.
TEST_F(DimAttrTest, IsComputedOnce) {
  DimAttr factors[3], first, second;
  for (int factor = 0; factor < 3; ++factor) {
    factors[factor] = DimAttr::constant(&context, 1);
    for (int term = 0; term < 9; ++term)
      factors[factor] =
          factors[factor] + DimAttr::symbolNamed(&context, "s" + std::to_string(factor) + std::to_string(term));
  }
  double computed = getSeconds([&] { first = factors[0] * factors[1] * factors[2]; });
  double known = getSeconds([&] { second = factors[0] * factors[1] * factors[2]; });
  EXPECT_EQ(first, second);
  EXPECT_LT(known, computed / 8) << "the same product took " << computed << " s and then " << known << " s";

  DimAttr size = pool(&context, 12), other = size * 3 + DimAttr::symbolNamed(&context, "w") * -1;
  bool isLess = false, isLessAgain = false;
  computed = getSeconds([&] { isLess = size.isAtMost(other); });
  known = getSeconds([&] { isLessAgain = size.isAtMost(other); });
  EXPECT_EQ(isLess, isLessAgain);
  EXPECT_LT(known, computed / 8) << "the same proof took " << computed << " s and then " << known << " s";
}

// What a stack of windows with stride 2 makes of a height, however its sizes are written.
TEST_F(DimAttrTest, QuotientsByConstantsHaveOneForm) {
  DimAttr h = DimAttr::symbolNamed(&context, "h"), zero = DimAttr::constant(&context, 0);
  auto number = [&](int64_t value) { return DimAttr::constant(&context, value); };
  DimAttr size = h;
  for (const char *wanted : {"ceildiv(h, 2)", "ceildiv(h, 4)", "ceildiv(h, 8)", "ceildiv(h, 16)"}) {
    size = DimAttr::max(zero, DimAttr::floorDiv(size + -1, number(2)) + 1);
    EXPECT_EQ(size.str(), wanted);
  }
  EXPECT_EQ(DimAttr::ceilDiv(h * 6 + 3, number(4)).str(), DimAttr::ceilDiv(h * 6 + 4, number(4)).str());
  EXPECT_EQ(DimAttr::floorDiv(h * 6 + 9, number(4)).str(), "floordiv(h * 3, 2) + 2");
  EXPECT_EQ(DimAttr::floorDiv(DimAttr::floorDiv(h, number(3)) + 1, number(5)).str(), "floordiv(h + 3, 15)");
}

TEST_F(DimAttrTest, QuotientsAreCompared) {
  auto dim = [&](const char *text) { return DimAttr::fromString(&context, text); };
  EXPECT_TRUE(dim("ceildiv(h, 4)").isAtMost(dim("ceildiv(h, 2)")));
  EXPECT_TRUE(dim("n * ceildiv(h, 4) * ceildiv(w, 4) * 64").isAtMost(dim("n * ceildiv(h, 2) * ceildiv(w, 2) * 64")));
  EXPECT_TRUE(dim("ceildiv(h, 16)").isAtMost(dim("ceildiv(h, 32) * 2")));
  EXPECT_TRUE(dim("floordiv(h, 2)").isAtMost(dim("h + 1")));
  EXPECT_FALSE(dim("ceildiv(h, 2)").isAtMost(dim("ceildiv(h, 4)")));
  EXPECT_FALSE(dim("ceildiv(h, 2)").isAtMost(dim("floordiv(h, 2)")));
  EXPECT_FALSE(dim("ceildiv(h, 16)").isAtMost(dim("ceildiv(h, 64) * 2")));
  EXPECT_FALSE(dim("n * ceildiv(h, 4) * 256").isAtMost(dim("n * ceildiv(h, 2) * 64")));
}

// 2^40 when every path is followed.
TEST_F(DimAttrTest, SharedTermsAreFollowedOnce) {
  DimAttr chain = DimAttr::symbolNamed(&context, "a");
  for (int i = 0; i < 40; ++i) {
    DimAttr next = DimAttr::symbolNamed(&context, "b" + std::to_string(i));
    chain = DimAttr::get(&context, DimKind::Max, 0, StringAttr(),
                         {DimAttr::get(&context, DimKind::Mod, 0, StringAttr(), {chain, next}),
                          DimAttr::get(&context, DimKind::Min, 0, StringAttr(), {chain, next})});
  }
  llvm::SetVector<StringAttr> symbols;
  chain.collectSymbols(symbols);
  EXPECT_EQ(symbols.size(), 41u);
  EXPECT_EQ(chain.evaluate([](StringRef) { return std::optional<int64_t>(7); }), 7);
  EXPECT_TRUE(chain.substitute([&](StringAttr) { return DimAttr::constant(&context, 7); }).asConstant() == 7);
  EXPECT_FALSE(chain.isAtMost(DimAttr::symbolNamed(&context, "c")));
}

TEST_F(DimAttrTest, EvaluationRefusesWhatDoesNotFit) {
  DimAttr n = DimAttr::symbolNamed(&context, "n");
  auto evaluate = [&](DimAttr dim, int64_t value) {
    return dim.evaluate([&](StringRef) { return std::optional(value); });
  };
  EXPECT_EQ(evaluate(n + INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(evaluate(n * n, INT64_C(1) << 32), std::nullopt);
  EXPECT_EQ(evaluate(DimAttr::floorDiv(DimAttr::constant(&context, 4), n), 0), std::nullopt);
  EXPECT_EQ(evaluate(n * 3, 4), 12);
}

TEST_F(DimAttrTest, TextThatIsNoExpressionIsNull) {
  for (const char *text : {"", "n +", "floordiv(n)", "(n", "n n", "1.5"})
    EXPECT_EQ(DimAttr::fromString(&context, text), DimAttr()) << text;
}

} // namespace
