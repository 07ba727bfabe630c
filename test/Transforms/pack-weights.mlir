// RUN: vx-opt %s --vx-pack-weights | FileCheck %s
// RUN: vx-opt %s --vx-pack-weights=tile-bytes=0 | FileCheck %s --check-prefix=ORDER

// Without tiles: in the order of the sum.
// ORDER-LABEL: func.func @main
// ORDER:         vx.pack %{{.+}} dim = 0 tile = 1 permutation = [0, 2, 3, 1] : tensor<20x3x3x3xf32>
// ORDER-NEXT:    vx.unpack %{{.+}} dim = 0 permutation = [0, 2, 3, 1] : tensor<20x3x3x3x1xf32> -> tensor<20x3x3x3xf32>

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x8xf32>, %y: tensor<1x5x5x3xf32>, %v: tensor<8x20xf32>) -> (tensor<4x20xf32>, tensor<4x20xf32>, tensor<1x5x5x20xf32>, tensor<4x20xf32>) {
  %w = vx.constant dense<1.0> : tensor<8x20xf32>
  %t = vx.constant dense<1.0> : tensor<20x8xf32>
  %f = vx.constant dense<1.0> : tensor<20x3x3x3xf32>
  // CHECK:      %[[P0:.+]] = vx.pack %{{.+}} dim = 1 tile = 16 permutation = [1, 0] : tensor<8x20xf32>
  // CHECK-NEXT: %[[U0:.+]] = vx.unpack %[[P0]] dim = 1 permutation = [1, 0] : tensor<2x8x16xf32> -> tensor<8x20xf32>
  // CHECK-NEXT: vx.contract %{{.+}}, %[[U0]]
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] {vx.product = #vx.product<family = cpu_product, packed = true>} : tensor<4x8xf32>, tensor<8x20xf32>
  // CHECK:      vx.pack %{{.+}} dim = 0 tile = 16 permutation = [0, 1] : tensor<20x8xf32>
  %1 = vx.contract %x, %t batch = [] x [] contracting = [1] x [1] {vx.product = #vx.product<family = cpu_product, packed = true>} : tensor<4x8xf32>, tensor<20x8xf32>
  // CHECK:      vx.pack %{{.+}} dim = 0 tile = 16 permutation = [0, 2, 3, 1] : tensor<20x3x3x3xf32>
  %2 = vx.conv %y, %f strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 channels_last {vx.product = #vx.product<family = cpu_product, channels_last = true, packed = true>} : tensor<1x5x5x3xf32>, tensor<20x3x3x3xf32>
  // As chosen.
  // CHECK-NOT:  vx.pack
  %3 = vx.contract %x, %v batch = [] x [] contracting = [1] x [0] : tensor<4x8xf32>, tensor<8x20xf32>
  return %0, %1, %2, %3 : tensor<4x20xf32>, tensor<4x20xf32>, tensor<1x5x5x20xf32>, tensor<4x20xf32>
}

// Of groups whose filters do not fill tiles, one tile has all, and room for a vector behind the last.
// CHECK-LABEL: func.func @groups
// CHECK:         vx.pack %{{.+}} dim = 0 tile = 64 permutation = [0, 2, 3, 1] : tensor<48x24x3x3xf32>
// CHECK:         vx.pack %{{.+}} dim = 0 tile = 16 permutation = [0, 2, 3, 1] : tensor<48x16x3x3xf32>
// CHECK:         vx.pack %{{.+}} dim = 0 tile = 16 permutation = [0, 2, 3, 1] : tensor<20x1x3x3xf32>
func.func @groups(%x: tensor<1x5x5x48xf32>, %y: tensor<1x5x5x20xf32>) -> (tensor<1x5x5x48xf32>, tensor<1x5x5x48xf32>, tensor<1x5x5x20xf32>) {
  %a = vx.constant dense<1.0> : tensor<48x24x3x3xf32>
  %b = vx.constant dense<1.0> : tensor<48x16x3x3xf32>
  %c = vx.constant dense<1.0> : tensor<20x1x3x3xf32>
  %0 = vx.conv %x, %a strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 2 channels_last {vx.product = #vx.product<family = cpu_product, channels_last = true, packed = true>} : tensor<1x5x5x48xf32>, tensor<48x24x3x3xf32>
  %1 = vx.conv %x, %b strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 3 channels_last {vx.product = #vx.product<family = cpu_product, channels_last = true, packed = true>} : tensor<1x5x5x48xf32>, tensor<48x16x3x3xf32>
  %2 = vx.conv %y, %c strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 20 channels_last {vx.product = #vx.product<family = cpu_product, channels_last = true, packed = true>} : tensor<1x5x5x20xf32>, tensor<20x1x3x3xf32>
  return %0, %1, %2 : tensor<1x5x5x48xf32>, tensor<1x5x5x48xf32>, tensor<1x5x5x20xf32>
}

// Four neighbours along the sum lie together where one instruction multiplies and sums them.
// CHECK-LABEL: func.func @neighbours
// CHECK:         vx.pack %{{.+}} dim = 1 tile = 16 permutation = [1, 0] inner = 4 : tensor<8x32xi8>
func.func @neighbours(%x: tensor<4x8xui8>) -> tensor<4x32xi32> {
  %w = vx.constant dense<1> : tensor<8x32xi8>
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] sums = i32 {vx.product = #vx.product<family = cpu_product, packed = true, neighbours = 4>} : tensor<4x8xui8>, tensor<8x32xi8>
  return %0 : tensor<4x32xi32>
}

// Of a weight that is computed from integers of 8 or 4 bits the integers are packed. Four vectors of columns lie together where they fill tiles.
// CHECK-LABEL: func.func @low_bits(
// CHECK:         %[[P:.+]] = vx.pack %{{.+}} dim = 1 tile = 64 permutation = [1, 0] : tensor<4x128xi8>
// CHECK:         %[[U:.+]] = vx.unpack %[[P]] dim = 1 permutation = [1, 0] : tensor<2x4x64xi8> -> tensor<4x128xi8>
// CHECK:         %[[C:.+]] = vx.cast %[[U]] : tensor<4x128xi8> -> tensor<4x128xf32>
// CHECK:         %[[D:.+]] = vx.mul %[[C]], %{{.+}}
// CHECK:         vx.contract %{{.+}}, %[[D]]
// CHECK:         vx.pack %{{.+}} dim = 0 tile = 16 permutation = [0, 1] : tensor<20x4xi4>
// CHECK:         vx.pack %{{.+}} dim = 0 tile = 32 permutation = [0, 1, 2] : tensor<32x2x2xui8>
// CHECK:         vx.pack %{{.+}} dim = 0 tile = 16 permutation = [0, 2, 3, 1] : tensor<20x3x3x3xi8>
// A weight of 16 bits is packed as floats, and so are the filters of groups.
// CHECK:         vx.pack %{{.+}} dim = 1 tile = 16 permutation = [1, 0] : tensor<4x20xf32>
// CHECK:         vx.pack %{{.+}} dim = 0 tile = {{.+}} : tensor<20x1x3x3xf32>
func.func @low_bits(%x: tensor<3x4xf32>, %t: tensor<3x2x2xf32>, %y: tensor<1x5x5x3xf32>, %g: tensor<1x5x5x20xf32>)
    -> (tensor<3x128xf32>, tensor<3x20xf32>, tensor<3x32xf32>, tensor<1x5x5x20xf32>, tensor<3x20xf32>, tensor<1x5x5x20xf32>) {
  %a = vx.constant dense_resource<a> : tensor<4x128xi8>
  %ac = vx.cast %a : tensor<4x128xi8> -> tensor<4x128xf32>
  %as = vx.constant dense<2.0> : tensor<4x128xf32>
  %ad = vx.mul %ac, %as : tensor<4x128xf32>, tensor<4x128xf32>
  %0 = vx.contract %x, %ad batch = [] x [] contracting = [1] x [0] {vx.product = #vx.product<family = cpu_product, packed = true>} : tensor<3x4xf32>, tensor<4x128xf32>
  %b = vx.constant dense_resource<b> : tensor<20x4xi4>
  %bd = vx.cast %b : tensor<20x4xi4> -> tensor<20x4xf32>
  %1 = vx.contract %x, %bd batch = [] x [] contracting = [1] x [1] {vx.product = #vx.product<family = cpu_product, packed = true>} : tensor<3x4xf32>, tensor<20x4xf32>
  %c = vx.constant dense_resource<c> : tensor<32x2x2xui8>
  %cd = vx.cast %c : tensor<32x2x2xui8> -> tensor<32x2x2xf32>
  %2 = vx.contract %t, %cd batch = [] x [] contracting = [1, 2] x [1, 2] {vx.product = #vx.product<family = cpu_product, packed = true>} : tensor<3x2x2xf32>, tensor<32x2x2xf32>
  %f = vx.constant dense_resource<f> : tensor<20x3x3x3xi8>
  %fd = vx.cast %f : tensor<20x3x3x3xi8> -> tensor<20x3x3x3xf32>
  %3 = vx.conv %y, %fd strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 channels_last {vx.product = #vx.product<family = cpu_product, channels_last = true, packed = true>} : tensor<1x5x5x3xf32>, tensor<20x3x3x3xf32>
  %h = vx.constant dense_resource<h> : tensor<4x20xi16>
  %hd = vx.cast %h : tensor<4x20xi16> -> tensor<4x20xf32>
  %4 = vx.contract %x, %hd batch = [] x [] contracting = [1] x [0] {vx.product = #vx.product<family = cpu_product, packed = true>} : tensor<3x4xf32>, tensor<4x20xf32>
  %k = vx.constant dense_resource<k> : tensor<20x1x3x3xi8>
  %kd = vx.cast %k : tensor<20x1x3x3xi8> -> tensor<20x1x3x3xf32>
  %5 = vx.conv %g, %kd strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 20 channels_last {vx.product = #vx.product<family = cpu_product, channels_last = true, packed = true>} : tensor<1x5x5x20xf32>, tensor<20x1x3x3xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<3x128xf32>, tensor<3x20xf32>, tensor<3x32xf32>, tensor<1x5x5x20xf32>, tensor<3x20xf32>, tensor<1x5x5x20xf32>
}

// Numbers of blocks are packed as the columns are, before they are widened and multiplied: a kernel reads few bytes, and neighbours in one load. Those
// of a column lie so already.
// CHECK-LABEL: func.func @numbers_of_blocks(
// CHECK:         %[[O:.+]] = vx.pack %{{.+}} dim = 0 tile = 64 permutation = [0, 1, 2] : tensor<64x2x2xi8>
// CHECK:         %[[OU:.+]] = vx.unpack %[[O]] dim = 0 permutation = [0, 1, 2]
// CHECK:         %[[OF:.+]] = vx.cast %[[OU]]
// CHECK:         %[[N:.+]] = vx.mul %{{.+}}, %[[OF]] : tensor<64x2x2xf32>, tensor<64x2x2xf32>
// CHECK:         vx.broadcast %[[N]], [0, 1, 2] : tensor<64x2x2xf32> -> tensor<64x2x2x4xf32>
// CHECK:         %[[M:.+]] = vx.pack %{{.+}} dim = 0 tile = 16 permutation = [0, 1, 2] : tensor<64x2x2xf32>
// CHECK-NOT:     vx.pack
// CHECK:         vx.broadcast %{{.+}}, [0] : tensor<64xf32> -> tensor<64x2x2x4xf32>
func.func @numbers_of_blocks(%x: tensor<1x2x2x4xf32>) -> tensor<1x64xf32> {
  %w = vx.constant dense_resource<w> : tensor<64x2x2x4xi4>
  %c = vx.cast %w : tensor<64x2x2x4xi4> -> tensor<64x2x2x4xf32>
  %own = vx.constant dense_resource<own> : tensor<64x2x2xi8>
  %own_f = vx.cast %own : tensor<64x2x2xi8> -> tensor<64x2x2xf32>
  %all = vx.constant dense_resource<all> : tensor<64x2x1xf16>
  %all_f = vx.cast %all : tensor<64x2x1xf16> -> tensor<64x2x1xf32>
  %all_b = vx.broadcast %all_f, [0, 1, 2] : tensor<64x2x1xf32> -> tensor<64x2x2xf32>
  %n = vx.mul %all_b, %own_f : tensor<64x2x2xf32>, tensor<64x2x2xf32>
  %s = vx.broadcast %n, [0, 1, 2] : tensor<64x2x2xf32> -> tensor<64x2x2x4xf32>
  %d = vx.mul %c, %s : tensor<64x2x2x4xf32>, tensor<64x2x2x4xf32>
  %m = vx.constant dense_resource<m> : tensor<64x2x2xf32>
  %mb = vx.broadcast %m, [0, 1, 2] : tensor<64x2x2xf32> -> tensor<64x2x2x4xf32>
  %e = vx.add %d, %mb : tensor<64x2x2x4xf32>, tensor<64x2x2x4xf32>
  %k = vx.constant dense_resource<k> : tensor<64xf32>
  %kb = vx.broadcast %k, [0] : tensor<64xf32> -> tensor<64x2x2x4xf32>
  %f = vx.mul %e, %kb : tensor<64x2x2x4xf32>, tensor<64x2x2x4xf32>
  %r = vx.contract %x, %f batch = [] x [] contracting = [1, 2, 3] x [1, 2, 3] {vx.product = #vx.product<family = cpu_product, packed = true>} : tensor<1x2x2x4xf32>, tensor<64x2x2x4xf32>
  return %r : tensor<1x64xf32>
}
