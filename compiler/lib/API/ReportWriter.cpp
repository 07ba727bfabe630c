#include "ReportWriter.h"

#include "vx/base/names.h"
#include "vx/base/printable.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace vx {

std::string getTextReport(const CompilationReport &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << report.sourceOps << " ops in the graph\n";
  for (const std::string &assumption : report.assumptions)
    os << "assumed: " << printableLine(assumption) << "\n";
  for (const ProgramReport &program : report.programs) {
    os << program.target;
    for (auto &[name, value] : program.constraints)
      os << " " << printableLine(name) << "=" << value;
    os << ": " << program.dispatches << " dispatches, arena " << printableLine(program.arenaSize) << " bytes, at least "
       << printableLine(program.arenaLowerBound) << "\n";
    if (program.derivedConstants > 0)
      os << "         at load " << program.dispatchesAtLoad << " dispatches for " << program.derivedConstants
         << " derived constants of " << program.derivedBytes << " bytes\n";
    if (program.derivedOfVariables > 0)
      os << "         on change " << program.dispatchesOnChange << " dispatches for " << program.derivedOfVariables
         << " values derived from variables of " << program.derivedOfVariablesBytes << " bytes\n";
    if (program.functions.size() > 1)
      for (const FunctionReport &function : program.functions)
        os << "         " << printableLine(function.name) << ": " << function.dispatches << " dispatches and "
           << function.copies << " copies in " << function.segments << (function.segments == 1 ? " replay" : " replays")
           << ", arena " << printableLine(function.arenaSize) << " bytes, at least "
           << printableLine(function.arenaLowerBound) << "\n";
  }
  for (const SavedValue &value : report.saved.values) {
    os << printableLine(value.function) << (value.isRecomputed ? " computes again " : " keeps ") << value.bytes
       << " bytes of " << printableLine(value.node);
    if (value.isRecomputed)
      os << ", by " << value.flops << " flops";
    os << "\n";
  }
  for (const SkippedBucket &skipped : report.skipped) {
    os << "no version for";
    for (auto &[name, value] : skipped.dims)
      os << " " << printableLine(name) << "=" << value;
    os << ": " << printableLine(skipped.node + " " + skipped.reason) << "\n";
  }
  for (const ConstraintReport &constraint : report.constraints)
    os << printableLine(constraint.function + " needs " + constraint.want + ", for " + constraint.node) << "\n";
  for (const KernelReport &kernel : report.kernels) {
    os << llvm::formatv("{0,-8} {1,-12} {2,-32} {3,9} bytes {4,8:f1} ms{5}\n", kernel.target, kernel.variant,
                        kernel.name, kernel.binarySize, kernel.milliseconds, kernel.fromCache ? " (cached)" : "");
    os << "         key " << kernel.key << ", " << kernel.strategy << "\n";
    if (!kernel.takenStrategy.empty())
      os << "         as " << kernel.takenStrategy << " instead: " << kernel.declineReason << "\n";
    if (!kernel.loopsReason.empty())
      os << "         a product in plain loops: " << kernel.loopsReason << "\n";
    os << "         " << kernel.dispatches << " dispatches";
    if (kernel.dispatchesAtLoad > 0)
      os << " and " << kernel.dispatchesAtLoad << " at load";
    if (kernel.dispatchesOnChange > 0)
      os << " and " << kernel.dispatchesOnChange << " on change";
    os << ", each " << printableLine(kernel.flops) << " flops and " << printableLine(kernel.bytes) << " bytes";
    if (!kernel.products.empty())
      os << ", products of " << kernel.products;
    os << "\n         from ";
    os << printableLine(firstNames(kernel.sources));
    os << "\n";
  }
  return text;
}

std::string getJsonReport(const CompilationReport &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("source_ops", static_cast<int64_t>(report.sourceOps));
    json.attributeArray("programs", [&] {
      for (const ProgramReport &program : report.programs)
        json.object([&] {
          json.attribute("target", program.target);
          json.attributeObject("dims", [&] {
            for (auto &[name, value] : program.constraints)
              json.attribute(name, value);
          });
          json.attribute("dispatches", static_cast<int64_t>(program.dispatches));
          json.attribute("dispatches_at_load", static_cast<int64_t>(program.dispatchesAtLoad));
          json.attribute("derived_constants", static_cast<int64_t>(program.derivedConstants));
          json.attribute("derived_bytes", static_cast<int64_t>(program.derivedBytes));
          json.attribute("dispatches_on_change", static_cast<int64_t>(program.dispatchesOnChange));
          json.attribute("derived_of_variables", static_cast<int64_t>(program.derivedOfVariables));
          json.attribute("derived_of_variables_bytes", static_cast<int64_t>(program.derivedOfVariablesBytes));
          json.attribute("arena_bytes", program.arenaSize);
          json.attribute("arena_lower_bound_bytes", program.arenaLowerBound);
          json.attributeArray("functions", [&] {
            for (const FunctionReport &function : program.functions)
              json.object([&] {
                json.attribute("name", function.name);
                json.attribute("dispatches", static_cast<int64_t>(function.dispatches));
                json.attribute("copies", static_cast<int64_t>(function.copies));
                json.attribute("replays", static_cast<int64_t>(function.segments));
                json.attribute("arena_bytes", function.arenaSize);
                json.attribute("arena_lower_bound_bytes", function.arenaLowerBound);
              });
          });
        });
    });
    json.attributeArray("saved", [&] {
      for (const SavedValue &value : report.saved.values)
        json.object([&] {
          json.attribute("function", value.function);
          json.attribute("node", value.node);
          json.attribute("bytes", static_cast<int64_t>(value.bytes));
          json.attribute("recomputed", value.isRecomputed);
          json.attribute("flops", static_cast<int64_t>(value.flops));
        });
    });
    json.attributeArray("skipped", [&] {
      for (const SkippedBucket &skipped : report.skipped)
        json.object([&] {
          json.attributeObject("dims", [&] {
            for (auto &[name, value] : skipped.dims)
              json.attribute(name, value);
          });
          json.attribute("node", skipped.node);
          json.attribute("reason", skipped.reason);
        });
    });
    json.attributeArray("assumptions", [&] {
      for (const std::string &assumption : report.assumptions)
        json.value(llvm::json::fixUTF8(assumption));
    });
    json.attributeArray("constraints", [&] {
      for (const ConstraintReport &constraint : report.constraints)
        json.object([&] {
          json.attribute("function", constraint.function);
          json.attribute("node", constraint.node);
          json.attribute("wants", constraint.want);
        });
    });
    json.attributeArray("kernels", [&] {
      for (const KernelReport &kernel : report.kernels)
        json.object([&] {
          json.attribute("target", kernel.target);
          json.attribute("variant", kernel.variant);
          json.attribute("name", kernel.name);
          json.attribute("key", kernel.key);
          json.attribute("strategy", kernel.strategy);
          if (!kernel.takenStrategy.empty()) {
            json.attribute("taken_strategy", kernel.takenStrategy);
            json.attribute("declined", kernel.declineReason);
          }
          if (!kernel.loopsReason.empty())
            json.attribute("loops_reason", kernel.loopsReason);
          if (!kernel.products.empty())
            json.attribute("products", kernel.products);
          json.attributeArray("sources", [&] {
            for (const std::string &source : kernel.sources)
              json.value(source);
          });
          json.attribute("dispatches", static_cast<int64_t>(kernel.dispatches));
          json.attribute("dispatches_at_load", static_cast<int64_t>(kernel.dispatchesAtLoad));
          json.attribute("dispatches_on_change", static_cast<int64_t>(kernel.dispatchesOnChange));
          json.attribute("flops", kernel.flops);
          json.attribute("bytes", kernel.bytes);
          json.attribute("binary_bytes", static_cast<int64_t>(kernel.binarySize));
          json.attribute("milliseconds", kernel.milliseconds);
          json.attribute("cached", kernel.fromCache);
        });
    });
  });
  os << "\n";
  return text;
}

} // namespace vx
