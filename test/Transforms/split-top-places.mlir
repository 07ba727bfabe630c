// RUN: vx-opt %s --split-input-file --vx-split-top-places | FileCheck %s

// The best ones of each block, and of these the best: as places of the whole row. What fills up the last block is behind all that there is.
// CHECK-LABEL: func.func @long(
// CHECK-DAG:     %[[LAST:.+]] = vx.constant dense<0xFF800000> : tensor<f32>
// CHECK:         %[[ALL:.+]] = vx.pad %{{.+}}, %[[LAST]]
// CHECK:         %[[BLOCKS:.+]] = vx.reshape %[[ALL]] : tensor<2x20480xf32> -> tensor<10x4096xf32>
// CHECK:         vx.top_places descending %[[BLOCKS]] count = 5
// CHECK:         %[[PLACES:.+]] = vx.reshape %{{.+}} : tensor<2x5x5xi64> -> tensor<2x25xi64>
// CHECK:         %[[KEYS:.+]] = vx.gather
// CHECK:         vx.top_places descending %[[KEYS]] count = 5 : tensor<2x25xf32>
// CHECK:         vx.gather
func.func @long(%x: tensor<2x20000xf32>) -> tensor<2x5xi64> {
  %0 = vx.top_places descending %x count = 5 : tensor<2x20000xf32>
  return %0 : tensor<2x5xi64>
}

// -----

// Many elements take three stages.
// CHECK-LABEL: func.func @longer(
// CHECK-COUNT-3: vx.top_places
// CHECK-NOT:     vx.top_places
func.func @longer(%x: tensor<1x1048576xi64>) -> tensor<1x200xi64> {
  %0 = vx.top_places %x count = 200 : tensor<1x1048576xi64>
  return %0 : tensor<1x200xi64>
}

// -----

// Many rows keep a GPU busy, and short ones are no work.
// CHECK-LABEL: func.func @many_rows(
// CHECK-NEXT:    vx.top_places
// CHECK-NEXT:    return
func.func @many_rows(%x: tensor<200x20000xf32>) -> tensor<200x5xi64> {
  %0 = vx.top_places %x count = 5 : tensor<200x20000xf32>
  return %0 : tensor<200x5xi64>
}
// CHECK-LABEL: func.func @short(
// CHECK-NEXT:    vx.top_places
// CHECK-NEXT:    return
func.func @short(%x: tensor<2x8192xf32>) -> tensor<2x5xi64> {
  %0 = vx.top_places %x count = 5 : tensor<2x8192xf32>
  return %0 : tensor<2x5xi64>
}

// -----

vx.symbol "n"
// CHECK-LABEL: func.func @unknown_length(
// CHECK-NEXT:    vx.top_places
// CHECK-NEXT:    return
func.func @unknown_length(%x: tensor<2x?xf32, #vx.enc<[2, n]>>) -> tensor<2x5xi64> {
  %0 = vx.top_places %x count = 5 : tensor<2x?xf32, #vx.enc<[2, n]>>
  return %0 : tensor<2x5xi64>
}

// -----

// A number of rows that only the call knows.
vx.symbol "r"
// CHECK-LABEL: func.func @unknown_rows(
// CHECK-COUNT-2: vx.top_places
func.func @unknown_rows(%x: tensor<?x20000xf32, #vx.enc<[r, 20000]>>) -> tensor<?x5xi64, #vx.enc<[r, 5]>> {
  %0 = vx.top_places %x count = 5 : tensor<?x20000xf32, #vx.enc<[r, 20000]>>
  return %0 : tensor<?x5xi64, #vx.enc<[r, 5]>>
}
