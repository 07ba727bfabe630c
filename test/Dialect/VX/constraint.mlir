// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol "m"
vx.symbol "n"
// CHECK-LABEL: func.func @constraint(
func.func @constraint() {
  // CHECK: vx.constraint equal <n>, <m> "sizes 'n' and 'm' equal"
  vx.constraint equal <n>, <m> "sizes 'n' and 'm' equal"
  // CHECK: vx.constraint at_least <n>, <3> "size 'n' to be at least '3'"
  vx.constraint at_least <n>, <3> "size 'n' to be at least '3'"
  // CHECK: vx.constraint multiple <n>, <m> "size 'n' to be a multiple of 'm'"
  vx.constraint multiple <n>, <m> "size 'n' to be a multiple of 'm'"
  // CHECK: vx.constraint broadcast <n>, <m> "sizes 'n' and 'm' equal or one of them 1"
  vx.constraint broadcast <n>, <m> "sizes 'n' and 'm' equal or one of them 1"
  // CHECK: vx.constraint repeat <broadcast(m, n)>, <8> "size 'broadcast(m, n)' to be 1 or '8'"
  vx.constraint repeat <broadcast(n, m)>, <8> "size 'broadcast(m, n)' to be 1 or '8'"
  // CHECK: vx.constraint differ <n>, <1> "size 'n' not to be '1'"
  vx.constraint differ <n>, <1> "size 'n' not to be '1'"
  return
}

// -----

func.func @no_kind() {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'kind' [equal, at_least, multiple, broadcast, repeat, differ]}}
  vx.constraint less <3>, <4> "what no kind says"
  return
}
