// Writes the module that the tests of the C and C++ interfaces load.
#include "programs.h"

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  vx::test::ModuleBuilder builder;
  vx::test::addAffine(builder);
  builder.addCpuTarget();
  vx::test::writeFile(argv[1], builder.bytes());
  return 0;
}
