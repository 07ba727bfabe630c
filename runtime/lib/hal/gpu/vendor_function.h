// The functions of a vendor's library as a table. A driver lists them once, as X(member, name, version, result,
// parameters): the symbol is the name with the version behind it, and messages have the name. What the vendors have
// alike has the same member name in each list, which vendor_api.h is written over.
#ifndef VX_RUNTIME_HAL_GPU_VENDOR_FUNCTION_H
#define VX_RUNTIME_HAL_GPU_VENDOR_FUNCTION_H

#include <dlfcn.h>

namespace vx::hal::gpu {

template <typename Signature>
class VendorFunction;

template <typename Result, typename... Parameters>
class VendorFunction<Result(Parameters...)> {
public:
  constexpr VendorFunction(const char *name, const char *symbol) : name(name), symbol(symbol) {}

  // False when the library, of dlopen, does not have it.
  bool load(void *library) {
    address = reinterpret_cast<Result (*)(Parameters...)>(dlsym(library, symbol));
    return address != nullptr;
  }
  explicit operator bool() const { return address != nullptr; }
  Result operator()(Parameters... parameters) const { return address(parameters...); }

  const char *name;
  const char *symbol;

private:
  Result (*address)(Parameters...) = nullptr;
};

#define VX_GPU_DECLARE_FUNCTION(MEMBER, NAME, VERSION, RESULT, PARAMETERS)                                             \
  ::vx::hal::gpu::VendorFunction<RESULT PARAMETERS> MEMBER{NAME, NAME VERSION};
#define VX_GPU_LOAD_FUNCTION(MEMBER, NAME, VERSION, RESULT, PARAMETERS)                                                \
  if (!MEMBER.load(library))                                                                                           \
    return MEMBER.symbol;

// `Functions` of such a list. `load` gives the first symbol that is missing, or null.
#define VX_GPU_FUNCTION_TABLE(LIST)                                                                                    \
  struct Functions {                                                                                                   \
    LIST(VX_GPU_DECLARE_FUNCTION)                                                                                      \
    const char *load(void *library) {                                                                                  \
      LIST(VX_GPU_LOAD_FUNCTION)                                                                                       \
      return nullptr;                                                                                                  \
    }                                                                                                                  \
  };

} // namespace vx::hal::gpu

#endif
