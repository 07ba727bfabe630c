// RUN: vx-interpret %s --input 'x=f32[3]:ones' --print | FileCheck %s
// RUN: not vx-interpret %s --function fault 2>&1 | FileCheck %s --check-prefix=FAULT

// Fusions and dispatches run by their regions; a kernel has symbols of its own.
// CHECK:      0: f32[3]
// CHECK-NEXT: [2, 2, 2]
vx.symbol "n"
vx.symbol "s0"
vx.kernel @double "" symbols ["s0"] workgroups <s0> #vx.loops<tile = [1]> {
^bb0(%x: tensor<?xf32, #vx.enc<[s0]>>):
  %0 = vx.add %x, %x : tensor<?xf32, #vx.enc<[s0]>>, tensor<?xf32, #vx.enc<[s0]>>
  vx.yield %0 : tensor<?xf32, #vx.enc<[s0]>>
}
func.func @main(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"}) -> tensor<?xf32, #vx.enc<[n]>> {
  %0 = vx.fusion (%x) : (tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> #vx.loops<tile = [1]> {
  ^bb0(%a: tensor<?xf32, #vx.enc<[n]>>):
    %2 = vx.abs %a : tensor<?xf32, #vx.enc<[n]>>
    vx.yield %2 : tensor<?xf32, #vx.enc<[n]>>
  }
  %1 = vx.dispatch @double (%0) symbols [#vx.dim<n>] : (tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>>
  return %1 : tensor<?xf32, #vx.enc<[n]>>
}

// The dispatch knows which node the fault of a shared kernel comes from.
// FAULT: vx-interpret: error: index 3 at [0] is out of range [-3, 3) in 'gather_2 (Gather)'
vx.kernel @gather "" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<3xf32>, %i: tensor<1xi64>):
  %0 = vx.gather %x, %i axis = 0 {vx.anchor} : tensor<3xf32>, tensor<1xi64>
  vx.yield %0 : tensor<1xf32>
}
func.func @fault() -> tensor<1xf32> {
  %a = vx.constant dense<0.0> : tensor<3xf32>
  %i = vx.constant dense<3> : tensor<1xi64>
  %0 = vx.dispatch @gather (%a, %i) symbols [] {vx.fault_sites = ["gather_2 (Gather)"]} : (tensor<3xf32>, tensor<1xi64>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
