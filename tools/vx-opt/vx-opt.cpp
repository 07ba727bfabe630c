// The MLIR driver of all dialects and passes of vx.

#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<vx::VXDialect, vxk::VXKDialect>();
  mlir::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "vx modular optimizer driver\n", registry));
}
