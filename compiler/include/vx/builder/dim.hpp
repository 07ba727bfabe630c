// Element types and sizes as template arguments, and the messages of the checks when a program is compiled.
#ifndef VX_BUILDER_DIM_HPP
#define VX_BUILDER_DIM_HPP

#include "vx/compiler/vxb.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <utility>

// The message of a static check has both values. If a compiler accepts no computed text, the text is the argument of a
// template without a definition, and the compiler's message shows it.
#if (defined(__cpp_static_assert) && __cpp_static_assert >= 202306L) || (defined(__clang__) && __clang_major__ >= 17)
#define VX_BUILDER_CHECK(ok, ...) static_assert(ok, (__VA_ARGS__))
#else
#define VX_BUILDER_CHECK(ok, ...)                                                                                      \
  if constexpr (!(ok))                                                                                                 \
  (void)sizeof(::vx::build::ShapeError<(__VA_ARGS__)>)
#endif
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++26-extensions"
#endif

namespace vx::build {

struct f16 {
  static constexpr vxb_element_type type = VXB_F16;
  using value = uint16_t; // its bits
};
struct bf16 {
  static constexpr vxb_element_type type = VXB_BF16;
  using value = uint16_t; // its bits
};
struct f32 {
  static constexpr vxb_element_type type = VXB_F32;
  using value = float;
};
struct f64 {
  static constexpr vxb_element_type type = VXB_F64;
  using value = double;
};
struct i8 {
  static constexpr vxb_element_type type = VXB_I8;
  using value = int8_t;
};
struct i16 {
  static constexpr vxb_element_type type = VXB_I16;
  using value = int16_t;
};
struct i32 {
  static constexpr vxb_element_type type = VXB_I32;
  using value = int32_t;
};
struct i64 {
  static constexpr vxb_element_type type = VXB_I64;
  using value = int64_t;
};
struct u8 {
  static constexpr vxb_element_type type = VXB_U8;
  using value = uint8_t;
};
struct b1 {
  static constexpr vxb_element_type type = VXB_BOOL;
  using value = uint8_t; // 0 or 1
};

/// A size that is a number (64), a name ("batch"), or any. The program's types know at most as much as the graph does.
/// A size that they leave open is checked when the graph is built, or by the call.
struct Dim {
  char name[20]{};
  int64_t size = -1;

  constexpr Dim(int64_t n) : size(n) {}
  constexpr Dim(int n) : size(n) {}
  template <size_t N>
  constexpr Dim(const char (&text)[N]) {
    static_assert(N <= 20, "vx: the name of a dimension has at most 19 letters");
    for (size_t i = 0; i < N; ++i)
      name[i] = text[i];
  }
  constexpr bool isAny() const { return size < 0 && !name[0]; }
  constexpr bool isNumber() const { return size >= 0; }
  constexpr bool operator==(const Dim &) const = default;
};
inline constexpr Dim any = Dim(-1);

/// Whether two sizes are never equal: two different numbers, or two different names. A name and a number may be equal.
constexpr bool clash(Dim a, Dim b) { return !a.isAny() && !b.isAny() && a != b && a.isNumber() == b.isNumber(); }
/// The more exact one of two sizes.
constexpr Dim better(Dim a, Dim b) { return a.isAny() ? b : b.isAny() ? a : a.isNumber() ? a : b; }

/// A text that is put together when a program is compiled.
struct Message {
  char text[224]{};
  size_t length = 0;

  constexpr Message &operator<<(const char *more) {
    while (*more && length + 1 < sizeof(text))
      text[length++] = *more++;
    return *this;
  }
  constexpr Message &operator<<(int64_t value) {
    if (value < 0)
      return *this << "-" << -value;
    char digits[24]{};
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value > 0);
    while (count > 0 && length + 1 < sizeof(text))
      text[length++] = digits[--count];
    return *this;
  }
  constexpr Message &operator<<(Dim dim) {
    return dim.isAny() ? *this << "any" : dim.isNumber() ? *this << dim.size : *this << dim.name;
  }
  template <size_t R>
  constexpr Message &operator<<(const std::array<Dim, R> &dims) {
    *this << "[";
    for (size_t i = 0; i < R; ++i)
      *this << (i > 0 ? ", " : "") << dims[i];
    return *this << "]";
  }
  constexpr size_t size() const { return length; }
  constexpr const char *data() const { return text; }
};
template <Message M>
struct ShapeError;

/// "vx: NAME: " and the parts after it.
template <class... Parts>
constexpr Message message(const Parts &...parts) {
  Message text;
  text << "vx: ";
  (text << ... << parts);
  return text;
}

using Loc = std::source_location;

template <class D, Dim... S>
class Tensor;
template <class D>
using Scalar = Tensor<D>;

namespace detail {

template <size_t R>
using Dims = std::array<Dim, R>;

template <class D, auto Arr, class I>
struct Spread;
template <class D, auto Arr, size_t... I>
struct Spread<D, Arr, std::index_sequence<I...>> {
  using type = Tensor<D, Arr[I]...>;
};
/// The tensor with other elements.
template <class D, class T>
struct WithType;
template <class D, class Old, Dim... S>
struct WithType<D, Tensor<Old, S...>> {
  using type = Tensor<D, S...>;
};
template <size_t R>
constexpr Dims<R> anyDims() {
  return
      []<size_t... I>(std::index_sequence<I...>) { return Dims<R>{((void)I, any)...}; }(std::make_index_sequence<R>());
}
/// The axis from the front.
constexpr size_t axis(int a, size_t rank) { return static_cast<size_t>(a < 0 ? a + static_cast<int>(rank) : a); }
constexpr bool isAxis(int a, size_t rank) { return a >= -static_cast<int>(rank) && a < static_cast<int>(rank); }

/// The first dimension in which the two sizes are never equal; R: there is none.
template <size_t R>
constexpr size_t findClash(const Dims<R> &a, const Dims<R> &b) {
  for (size_t i = 0; i < R; ++i)
    if (clash(a[i], b[i]))
      return i;
  return R;
}

} // namespace detail

/// The tensor of `Arr`, an array of sizes.
template <class D, auto Arr>
using TensorOf = typename detail::Spread<D, Arr, std::make_index_sequence<Arr.size()>>::type;

} // namespace vx::build

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
