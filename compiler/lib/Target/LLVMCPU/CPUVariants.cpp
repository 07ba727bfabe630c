// The variants of CPU code that vx knows by name, and the one that the compiling machine would like best.
#include "CPUTargetImpl.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;

namespace vx::cpu {

namespace {

struct KnownVariant {
  llvm::StringLiteral name;
  llvm::StringLiteral alias;
  llvm::StringLiteral cpu;
  int64_t vectorBits;
  int64_t registers;
  llvm::ArrayRef<llvm::StringLiteral> features; // what the device must report
  llvm::StringLiteral extra = "";               // a feature that `cpu` lacks and the device must report
};

/// The feature of `TargetSpec::hasByteDots`.
constexpr llvm::StringLiteral byteDots = "avx512vnni";

constexpr llvm::StringLiteral v2Features[] = {"sse3", "ssse3", "sse4.1", "sse4.2", "cx16", "popcnt", "sahf"};
constexpr llvm::StringLiteral v3Features[] = {"sse3", "ssse3", "sse4.1", "sse4.2", "cx16", "popcnt", "sahf",  "avx",
                                              "avx2", "bmi",   "bmi2",   "f16c",   "fma",  "lzcnt",  "movbe", "xsave"};
constexpr llvm::StringLiteral v4Features[] = {
    "sse3", "ssse3", "sse4.1", "sse4.2", "cx16",  "popcnt",  "sahf",     "avx",      "avx2",     "bmi",     "bmi2",
    "f16c", "fma",   "lzcnt",  "movbe",  "xsave", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};

const KnownVariant known[] = {
    {"avx512+vnni", "", "x86-64-v4", 512, 32, v4Features, byteDots},
    {"avx512", "x86-64-v4", "x86-64-v4", 512, 32, v4Features},
    {"x86-64-v3", "avx2", "x86-64-v3", 256, 16, v3Features},
    {"x86-64-v2", "", "x86-64-v2", 128, 16, v2Features},
    {"generic", "x86-64", "x86-64", 128, 16, {}},
};

/// Features above x86-64-v4 and v3 that the runtime can check and code may use; with them `native` differs from a known
/// variant. In the order in which they appear in a variant's name.
constexpr llvm::StringLiteral nativeExtras[] = {"avx512ifma",   "avx512vbmi",      "avx512vbmi2",  "avx512vnni",
                                                "avx512bitalg", "avx512vpopcntdq", "avx512bf16",   "avx512fp16",
                                                "amx-tile",     "amx-int8",        "amx-bf16",     "amx-fp16",
                                                "avxvnni",      "avxifma",         "avxneconvert", "avxvnniint8"};

TargetSpec makeSpec(const KnownVariant &variant) {
  TargetSpec spec;
  spec.target = "cpu";
  spec.variant = variant.name.str();
  spec.triple = "x86_64-unknown-linux-gnu";
  spec.cpu = variant.cpu.str();
  for (llvm::StringRef feature : variant.features)
    spec.requires_.push_back(feature.str());
  if (!variant.extra.empty()) {
    spec.requires_.push_back(variant.extra.str());
    spec.features = "+" + variant.extra.str();
  }
  spec.hasByteDots = variant.extra == byteDots;
  spec.vectorBits = variant.vectorBits;
  // AVX-512BW masks bytes, AVX elements of 32 and 64 bits, and SSE nothing.
  spec.maskedBits = variant.vectorBits == 512 ? 8 : variant.vectorBits == 256 ? 32 : 65;
  spec.registers = variant.registers;
  return spec;
}

FailureOr<TargetSpec> nativeSpec(std::string &error) {
#if defined(__x86_64__)
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  // The last one wants nothing.
  TargetSpec spec = makeSpec(*llvm::find_if(known, [&](const KnownVariant &variant) {
    return variant.extra.empty() &&
           llvm::all_of(variant.features, [&](llvm::StringRef feature) { return host.lookup(feature); });
  }));
  llvm::SmallVector<std::string> enabled;
  for (llvm::StringRef extra : nativeExtras) {
    if (!host.lookup(extra))
      continue;
    spec.requires_.push_back(extra.str());
    spec.variant += "+" + extra.str();
    enabled.push_back("+" + extra.str());
  }
  spec.features = llvm::join(enabled, ",");
  spec.hasByteDots = llvm::is_contained(spec.requires_, byteDots);
  return spec;
#else
  error =
      "variant 'native' of target 'cpu': expected an x86-64 processor to compile on, got another; name another variant";
  return failure();
#endif
}

} // namespace

FailureOr<std::vector<TargetSpec>> variants(llvm::ArrayRef<std::string> request, std::string &error) {
  std::vector<TargetSpec> result;
  if (request.empty())
    return std::vector<TargetSpec>{makeSpec(known[0]), makeSpec(known[1]), makeSpec(known[2])};
  for (const std::string &name : request) {
    std::optional<TargetSpec> spec;
    if (name == "native") {
      FailureOr<TargetSpec> native = nativeSpec(error);
      if (failed(native))
        return failure();
      spec = *native;
    }
    for (const KnownVariant &variant : known)
      if (name == variant.name || (!variant.alias.empty() && name == variant.alias))
        spec = makeSpec(variant);
    if (!spec) {
      error = "unknown variant '" + name + "' of target 'cpu', known are: native";
      for (const KnownVariant &variant : known)
        error += ", " + variant.name.str();
      return failure();
    }
    if (llvm::none_of(result, [&](const TargetSpec &other) { return other.variant == spec->variant; }))
      result.push_back(*spec);
  }
  // The runtime takes the first variant that the processor can run.
  llvm::sort(result, [](const TargetSpec &a, const TargetSpec &b) {
    return std::make_tuple(a.vectorBits, a.requires_.size(), a.variant) >
           std::make_tuple(b.vectorBits, b.requires_.size(), b.variant);
  });
  return result;
}

} // namespace vx::cpu
