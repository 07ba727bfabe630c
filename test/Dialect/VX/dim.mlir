// RUN: vx-opt %s --split-input-file | FileCheck %s
// RUN: vx-opt %s --split-input-file | vx-opt --split-input-file | FileCheck %s

// Equal polynomials are one attribute, with the highest degree first, then by name, the constant last.
// CHECK-LABEL: @normal_form
// CHECK-SAME:  a = #vx.dim<batch * 8 + 3>
// CHECK-SAME:  b = #vx.dim<batch * 8 + 3>
// CHECK-SAME:  c = #vx.dim<batch * seq * 2 + batch + seq - 7>
// CHECK-SAME:  d = #vx.dim<0>
// CHECK-SAME:  e = #vx.dim<a * a - b * b>
func.func private @normal_form() attributes {
  a = #vx.dim<batch * 8 + 3>, b = #vx.dim<1 + 4 * batch + 2 + batch * 4>,
  c = #vx.dim<seq + batch - 7 + 2 * seq * batch>, d = #vx.dim<n - n>, e = #vx.dim<(a + b) * (a - b)>}

// -----

// Division is exact where the divisor divides every term, and stays an atom where it does not.
// CHECK-LABEL: @division
// CHECK-SAME:  a = #vx.dim<n * 2 + 1>
// CHECK-SAME:  b = #vx.dim<floordiv(n, 4)>
// CHECK-SAME:  c = #vx.dim<-2>
// CHECK-SAME:  d = #vx.dim<-1>
// CHECK-SAME:  e = #vx.dim<batch * 2>
// CHECK-SAME:  f = #vx.dim<0>
// CHECK-SAME:  g = #vx.dim<ceildiv(n + 1, m)>
// CHECK-SAME:  h = #vx.dim<1>
// CHECK-SAME:  i = #vx.dim<floordiv(n, 0)>
func.func private @division() attributes {
  a = #vx.dim<floordiv(n * 8 + 4, 4)>, b = #vx.dim<floordiv(n, 4)>, c = #vx.dim<floordiv(-7, 4)>,
  d = #vx.dim<ceildiv(-7, 4)>, e = #vx.dim<floordiv(batch * seq * 8, seq * 4)>, f = #vx.dim<mod(n * 8, 4)>,
  g = #vx.dim<ceildiv(n + 1, m)>, h = #vx.dim<mod(-7, 4)>, i = #vx.dim<floordiv(n, 0)>}

// -----

// Multiples of the divisor do not count in a remainder, and what a remainder is taken from or fills up is a quotient.
// CHECK-LABEL: @remainders
// CHECK-SAME:  a = #vx.dim<ceildiv(h, 4) * 4>
// CHECK-SAME:  b = #vx.dim<mod(h * -1, 4)>
// CHECK-SAME:  c = #vx.dim<n * floordiv(h, 4) * 4>
// CHECK-SAME:  d = #vx.dim<mod(h, 6)>
// CHECK-SAME:  e = #vx.dim<ceildiv(h, 4) * -1>
// CHECK-SAME:  f = #vx.dim<h - mod(h, 4) * 2>
// CHECK-SAME:  g = #vx.dim<0>
// CHECK-SAME:  i = #vx.dim<h + mod(h + 1, n)>
// CHECK-SAME:  j = #vx.dim<ceildiv(h, 2) * 2>
// CHECK-SAME:  k = #vx.dim<n * floordiv(h, 2) * 2>
func.func private @remainders() attributes {
  a = #vx.dim<h + mod(4 - mod(h, 4), 4)>, b = #vx.dim<mod(3 * h + 8, 4)>, c = #vx.dim<n * h - n * mod(h, 4)>,
  d = #vx.dim<mod(mod(h, 12) + 18, 6)>, e = #vx.dim<floordiv(h * -1, 4)>, f = #vx.dim<h - 2 * mod(h, 4)>,
  g = #vx.dim<max(0, mod(h, n) - n)>, i = #vx.dim<h + mod(h + 1, n)>,
  j = #vx.dim<h + mod(h, 2)>, k = #vx.dim<n * h - n * mod(h, 2)>}

// -----

// A sum divides what it is a factor of.
// CHECK-LABEL: @quotients_of_sums
// CHECK-SAME:  a = #vx.dim<1>
// CHECK-SAME:  b = #vx.dim<b * 4 + 1>
// CHECK-SAME:  c = #vx.dim<floordiv(past + step + 1, past + step)>
func.func private @quotients_of_sums() attributes {
  a = #vx.dim<floordiv(past + step, step + past)>, b = #vx.dim<floordiv((past + step) * (4 * b + 1), past + step)>,
  c = #vx.dim<floordiv(past + step + 1, past + step)>}

// -----

// max and min give the operand that is known to win for symbols of at least 0.
// CHECK-LABEL: @extremes
// CHECK-SAME:  a = #vx.dim<n + 1>
// CHECK-SAME:  b = #vx.dim<n>
// CHECK-SAME:  c = #vx.dim<max(0, n - 2)>
// CHECK-SAME:  d = #vx.dim<max(a, b)>
// CHECK-SAME:  e = #vx.dim<max(a, b)>
func.func private @extremes() attributes {
  a = #vx.dim<max(n, n + 1)>, b = #vx.dim<min(n, n + 1)>, c = #vx.dim<max(n - 2, 0)>, d = #vx.dim<max(a, b)>,
  e = #vx.dim<max(b, a)>}

// -----

// Elements of lists are named as such.
// CHECK-LABEL: @elements
// CHECK-SAME:  a = #vx.dim<sizes[0] * sizes[12]>
// CHECK-SAME:  b = #vx.dim<"s[01]" + "s[1" + "s[]" + "s[a]">
func.func private @elements() attributes {
  a = #vx.dim<"sizes[0]" * sizes[12]>, b = #vx.dim<"s[01]" + "s[]" + "s[a]" + "s[1">}

// -----

// Names that are not identifiers, or that are words of the grammar, are quoted.
// CHECK-LABEL: @names
// CHECK-SAME:  a = #vx.dim<"any name" + b_2>
// CHECK-SAME:  b = #vx.dim<"max" * 2>
// CHECK-SAME:  c = #vx.dim<n * -1 + 3>
func.func private @names() attributes {
  a = #vx.dim<"b_2" + "any name">, b = #vx.dim<"max" + "max">, c = #vx.dim<3 - n>}

// -----

// Sums beyond 64 bits are kept as they are written, and never wrap.
// CHECK-LABEL: @overflow
// CHECK-SAME:  a = #vx.dim<9223372036854775807 + 1>
func.func private @overflow() attributes {a = #vx.dim<9223372036854775807 + 1>}
