// What a compilation made, for people and for programs.
#ifndef VX_LIB_API_REPORTWRITER_H
#define VX_LIB_API_REPORTWRITER_H

#include "vx/Driver/Compilation.h"
#include <string>

namespace vx {

std::string getTextReport(const CompilationReport &report);
/// One document: {"version": 1, "source_ops", "programs": [...], "saved": [...], "kernels": [...]}.
std::string getJsonReport(const CompilationReport &report);

} // namespace vx

#endif
