// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @signs(
func.func @signs(%sum: vector<16xi32>, %a: vector<64xi8>, %b: vector<64xi8>) -> (vector<16xi32>, vector<16xi32>) {
  // CHECK: vxk.dot %{{.+}}, %{{.+}}, signed %{{.+}} : vector<16xi32>, vector<64xi8>
  %0 = vxk.dot %sum, %a, signed %b : vector<16xi32>, vector<64xi8>
  // CHECK: vxk.dot %{{.+}}, signed %{{.+}}, %{{.+}} : vector<16xi32>, vector<64xi8>
  %1 = vxk.dot %sum, signed %a, %b : vector<16xi32>, vector<64xi8>
  return %0, %1 : vector<16xi32>, vector<16xi32>
}

// -----

func.func @c1(%sum: vector<16xi32>, %a: vector<32xi8>) {
  // expected-error @+1 {{'vxk.dot' op expects four elements of a factor for each of 16 sums, got 32}}
  %0 = vxk.dot %sum, %a, %a : vector<16xi32>, vector<32xi8>
  return
}

// -----

func.func @c2(%sum: vector<2xi32>, %a: vector<8xi8>) {
  // expected-error @+1 {{'vxk.dot' op expects 1, 4, 8 or 16 sums, got 2}}
  %0 = vxk.dot %sum, %a, %a : vector<2xi32>, vector<8xi8>
  return
}

// -----

// CHECK-LABEL: func.func @scale
func.func @scale(%x: vector<8xf32>, %n: vector<8xf32>) -> vector<8xf32> {
  // CHECK: vxk.scale %{{.+}}, %{{.+}} : vector<8xf32>
  %0 = vxk.scale %x, %n : vector<8xf32>
  return %0 : vector<8xf32>
}

// -----

func.func @scale_of_three(%x: vector<3xf32>) -> vector<3xf32> {
  // expected-error @+1 {{'vxk.scale' op expects 4, 8 or 16 elements, got 3}}
  %0 = vxk.scale %x, %x : vector<3xf32>
  return %0 : vector<3xf32>
}
