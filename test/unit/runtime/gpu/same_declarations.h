// A driver's own declarations against the vendor's header. Whoever includes this names his declarations `api`.
#ifndef VX_TEST_UNIT_RUNTIME_GPU_SAME_DECLARATIONS_H
#define VX_TEST_UNIT_RUNTIME_GPU_SAME_DECLARATIONS_H

#include "hal/gpu/vendor_function.h"

#include <type_traits>

#define SAME_SIZE(NAME, VENDOR) static_assert(sizeof(api::NAME) == sizeof(VENDOR), #VENDOR)
#define SAME_FIELD(NAME, VENDOR, FIELD)                                                                                \
  static_assert(offsetof(api::NAME, FIELD) == offsetof(VENDOR, FIELD), #VENDOR "." #FIELD);                            \
  static_assert(sizeof(api::NAME::FIELD) == sizeof(VENDOR::FIELD), #VENDOR "." #FIELD)
#define SAME_VALUE(NAME, VENDOR) static_assert(static_cast<int64_t>(api::NAME) == static_cast<int64_t>(VENDOR), #VENDOR)
#define SAME_FUNCTION(NAME, VENDOR)                                                                                    \
  static_assert(::vx::test::SameShape<decltype(api::Functions::NAME), decltype(&VENDOR)>::value, #VENDOR);

// That of `functions`, a table, against the name that the header's plain name is a macro for.
#define SAME_SYMBOL(NAME, VENDOR) EXPECT_STREQ(functions.NAME.symbol, VX_EXPANDED(VENDOR));
#define VX_TEXT(NAME) #NAME
#define VX_EXPANDED(NAME) VX_TEXT(NAME)

namespace vx::test {

// The number of parameters, and the size of each: their types are declared anew, so they are not the same types.
template <typename Ours, typename Theirs>
struct SameShape : std::false_type {};
template <typename Result, typename... Ours, typename TheirResult, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct SameShape<hal::gpu::VendorFunction<Result(Ours...)>, TheirResult (*)(Theirs...)>
    : std::bool_constant<sizeof(Result) == sizeof(TheirResult) && ((sizeof(Ours) == sizeof(Theirs)) && ...)> {};

} // namespace vx::test

#endif
