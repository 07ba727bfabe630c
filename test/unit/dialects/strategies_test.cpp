// What any strategy answers: its tile, threads and grid, and its words in reports.
#include "vx/Dialect/VX/IR/UserText.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vx {
namespace {

using namespace mlir;
using testing::ElementsAre;
using testing::IsEmpty;

class Strategies : public testing::Test {
protected:
  Strategies() { context.loadDialect<VXDialect>(); }

  StrategyAttrInterface parse(StringRef text) { return cast<StrategyAttrInterface>(parseAttribute(text, &context)); }
  DimAttr dim(StringRef text) { return DimAttr::fromString(&context, text); }

  MLIRContext context;
};

TEST_F(Strategies, TellTileAndThreads) {
  EXPECT_THAT(parse("#vx.serial").getWorkgroupTile(), IsEmpty());
  EXPECT_EQ(parse("#vx.serial").getThreads(), 1);
  EXPECT_EQ(parse("#vx.loops<tile = [4]>").getThreads(), 1);
  EXPECT_EQ(parse("#vx.cpu_product<tile = [4, 8]>").getThreads(), 1);
  EXPECT_THAT(parse("#vx.cpu_product<tile = [4, 8]>").getWorkgroupTile(), ElementsAre(4, 8));
  EXPECT_EQ(parse("#vx.mma<tile = [32, 64], step = 32, stages = 2, threads = 64>").getThreads(), 64);
  // A thread for each block and slice.
  StrategyAttrInterface product =
      parse("#vx.tiled_product<tile = [1, 64, 32], block_rows = 8, block_columns = 4, step = 8, slices = 2>");
  EXPECT_EQ(product.getThreads(), 128);
  EXPECT_THAT(product.getWorkgroupTile(), ElementsAre(1, 64, 32));
}

TEST_F(Strategies, CountWorkgroups) {
  SmallVector<DimAttr> sizes = {dim("n"), dim("100"), dim("m")};
  EXPECT_EQ(parse("#vx.serial").getGrid(0, sizes), dim("1"));
  EXPECT_EQ(parse("#vx.loops<tile = [1, 32]>").getGrid(0, sizes), dim("n * 4"));
  EXPECT_EQ(parse("#vx.loops<tile = [0, 100, 8]>").getGrid(0, sizes), dim("ceildiv(m, 8)"));
  // A size that is not known counts only where it is cut.
  sizes[0] = {};
  EXPECT_FALSE(parse("#vx.loops<tile = [1, 32]>").getGrid(0, sizes));
  EXPECT_EQ(parse("#vx.loops<tile = [0, 32]>").getGrid(0, sizes), dim("4"));
}

TEST_F(Strategies, HaveWordsForReports) {
  EXPECT_EQ(describeStrategy(parse("#vx.serial")), "serial");
  EXPECT_EQ(describeStrategy(parse("#vx.loops<tile = [1, 128], threads = 128>")),
            "loops, tile = [1, 128], threads = 128");
  EXPECT_EQ(parse("#vx.cpu_flash<tile = [1, 1, 64, 0]>").getStrategyName(), "cpu_flash");
}

// The dimension of which a workgroup has several rows.
TEST_F(Strategies, KnowTheirRows) {
  auto tileDim = [&](StringRef tile, StringRef sharing) {
    std::string text =
        ("#vx.rows<tile = " + tile + ", sharing = " + sharing + ", runs = 1, lanes = 1, threads = 128>").str();
    return cast<RowsAttr>(parse(text)).getTileDim();
  };
  EXPECT_EQ(tileDim("[1, 0]", "workgroup"), std::nullopt);
  EXPECT_EQ(tileDim("[1, 4, 0]", "subgroup"), 1u);
  EXPECT_EQ(tileDim("[0, 64]", "columns"), 1u);
}

} // namespace
} // namespace vx
