// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: module
// CHECK: vx.kernel @exp "0123" symbols ["s0"] workgroups <ceildiv(s0, 64)> #vx.loops<tile = [64]> {
// CHECK: ^bb0(%{{.*}}: tensor<?xf32, #vx.enc<[s0]>>):
vx.kernel @exp "0123" symbols ["s0"] workgroups <ceildiv(s0, 64)> #vx.loops<tile = [64]> {
^bb0(%x: tensor<?xf32, #vx.enc<[s0]>>):
  %1 = vx.exp %x : tensor<?xf32, #vx.enc<[s0]>>
  vx.yield %1 : tensor<?xf32, #vx.enc<[s0]>>
}
// CHECK-LABEL: func.func @main(
func.func @main(%a: tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  // CHECK: vx.dispatch @exp(%{{.*}}) symbols [#vx.dim<n>] : (tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>>
  %0 = vx.dispatch @exp (%a) symbols [#vx.dim<n>] : (tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>>
  return %0 : tensor<?xf32, #vx.enc<[n]>>
}

// -----

// expected-error @+1 {{'vx.kernel' op expects every symbol in 'symbols', got 's0' in the body only}}
vx.kernel @c1_type "" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<?xf32, #vx.enc<[s0]>>):
  vx.yield %x : tensor<?xf32, #vx.enc<[s0]>>
}

// -----

// The sizes in attributes count as well.
// expected-error @+1 {{'vx.kernel' op expects every symbol in 'symbols', got 's0' in the body only}}
vx.kernel @c1_attribute "" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<8xf32>):
  %0 = vx.slice %x starts [#vx.dim<s0>] strides [1] {vx.anchor} : tensor<8xf32> -> tensor<2xf32>
  vx.yield %0 : tensor<2xf32>
}

// -----

// expected-error @+1 {{'vx.kernel' op expects every symbol in 'symbols', got 's0' in the body only}}
vx.kernel @c1_workgroups "" symbols [] workgroups <s0> #vx.loops<tile = []> {
^bb0(%x: tensor<8xf32>):
  vx.yield %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{'vx.kernel' op expects a non-empty block}}
"vx.kernel"() <{sym_name = "no_terminator", key = "", symbols = [], workgroups = #vx.dim<1>, strategy = #vx.loops<tile = []>}> ({
^bb0(%x: tensor<8xf32>):
}) : () -> ()

// -----

func.func @c1_no_kernel(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.dispatch' op expects a kernel 'nothing', got none}}
  %0 = vx.dispatch @nothing (%a) symbols [] : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

vx.kernel @copy "" symbols ["s0"] workgroups <s0> #vx.loops<tile = []> {
^bb0(%x: tensor<?xf32, #vx.enc<[s0]>>):
  vx.yield %x : tensor<?xf32, #vx.enc<[s0]>>
}
func.func @c1_operands(%a: tensor<2xi32>) {
  // expected-error @+1 {{'vx.dispatch' op expects the operands and results of kernel 'copy': ('tensor<?xf32, #vx.enc<[s0]>>') -> ('tensor<?xf32, #vx.enc<[s0]>>'), got ('tensor<2xi32>') -> ('tensor<2xi32>')}}
  %0 = vx.dispatch @copy (%a) symbols [#vx.dim<2>] : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

vx.kernel @copy "" symbols ["s0"] workgroups <s0> #vx.loops<tile = []> {
^bb0(%x: tensor<?xf32, #vx.enc<[s0]>>):
  vx.yield %x : tensor<?xf32, #vx.enc<[s0]>>
}
func.func @c1_symbols(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.dispatch' op expects one value for each symbol of kernel 'copy': 1, got 0}}
  %0 = vx.dispatch @copy (%a) symbols [] : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// expected-error @+1 {{'vx.kernel' op expects the region to end with 'vx.yield', got 'func.return'}}
"vx.kernel"() ({
^bb0(%x: tensor<2xf32>):
  "func.return"() : () -> ()
}) {sym_name = "c1_end", key = "", symbols = [], workgroups = #vx.dim<1>, strategy = #vx.loops<tile = []>} : () -> ()

// -----

// expected-error @+1 {{'vx.kernel' op expects one op marked 'vx.anchor', got none where 'vx.softmax' of}}
vx.kernel @c2_none "" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<8xf32>):
  %0 = vx.softmax %x axis = 0 : tensor<8xf32>
  vx.yield %0 : tensor<8xf32>
}

// -----

// expected-error @+1 {{'vx.kernel' op expects a strategy with at most one tile size for each of 1 dimensions that are visited, got 2 in #vx.cpu_product<tile = [1, 2]>}}
vx.kernel @c3_sizes "" symbols [] workgroups <1> #vx.cpu_product<tile = [1, 2]> {
^bb0(%x: tensor<8xf32>):
  vx.yield %x : tensor<8xf32>
}
