// The headers that nearly every unit test reads, parsed once (cmake/VxPrecompile.cmake).
#include "RuntimePrecompiled.h"

#include <gtest/gtest.h>
