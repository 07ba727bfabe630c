// The headers that nearly every source of the tools reads, parsed once (cmake/VxPrecompile.cmake).
#include "RuntimePrecompiled.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
