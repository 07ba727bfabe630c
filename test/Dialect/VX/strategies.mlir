// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: module
// CHECK-SAME:    test.cpu_depthwise = #vx.cpu_depthwise<tile = [1, 4, 0, 0]>
// CHECK-SAME:    test.cpu_flash = #vx.cpu_flash<tile = [1, 1, 64, 0]>
// CHECK-SAME:    test.cpu_product = #vx.cpu_product<tile = [132, 192]>
// CHECK-SAME:    test.cpu_sort = #vx.cpu_sort<tile = [8, 0]>
// CHECK-SAME:    test.elementwise = #vx.elementwise<tile = [2, 128], lanes = 4, threads = 64>
// CHECK-SAME:    test.flash = #vx.flash<tile = [1, 1, 32, 0], keys = 16, threads = 128>
// CHECK-SAME:    test.loops = #vx.loops<tile = []>
// CHECK-SAME:    test.loops_of_threads = #vx.loops<tile = [1, 128], threads = 128>
// CHECK-SAME:    test.mma = #vx.mma<tile = [128, 64], step = 32, stages = 3, threads = 256>
// CHECK-SAME:    test.product = #vx.product<family = rows, prologue = 1>
// CHECK-SAME:    test.product_in_loops = #vx.product<family = loops, reason = narrow>
// CHECK-SAME:    test.product_of_images = #vx.product<family = cpu_product, channels_last = true, packed = true, neighbours = 4>
// CHECK-SAME:    test.rows = #vx.rows<tile = [1, 0], sharing = workgroup, runs = 4, lanes = 4, threads = 256>
// CHECK-SAME:    test.rows_by_columns = #vx.rows<tile = [0, 64], sharing = columns, runs = 8, lanes = 1, threads = 256>
// CHECK-SAME:    test.rows_by_subgroup = #vx.rows<tile = [4, 0], sharing = subgroup, runs = 2, lanes = 4, threads = 128>
// CHECK-SAME:    test.serial = #vx.serial
// CHECK-SAME:    test.sort = #vx.sort<tile = [1, 0], threads = 256>
// CHECK-SAME:    test.thread_rows = #vx.thread_rows<tile = [64, 0], threads = 64>
// CHECK-SAME:    test.tiled_product = #vx.tiled_product<tile = [64, 128], block_rows = 8, block_columns = 8, step = 8, slices = 2>
module attributes {
  test.serial = #vx.serial,
  test.loops = #vx.loops<tile = []>,
  test.loops_of_threads = #vx.loops<threads = 128, tile = [1, 128]>,
  test.elementwise = #vx.elementwise<tile = [2, 128], lanes = 4, threads = 64>,
  test.thread_rows = #vx.thread_rows<tile = [64, 0], threads = 64>,
  test.rows = #vx.rows<tile = [1, 0], sharing = workgroup, runs = 4, lanes = 4, threads = 256>,
  test.rows_by_subgroup = #vx.rows<tile = [4, 0], sharing = subgroup, runs = 2, lanes = 4, threads = 128>,
  test.rows_by_columns = #vx.rows<tile = [0, 64], sharing = columns, runs = 8, lanes = 1, threads = 256>,
  test.tiled_product = #vx.tiled_product<tile = [64, 128], block_rows = 8, block_columns = 8, step = 8, slices = 2>,
  test.mma = #vx.mma<tile = [128, 64], step = 32, stages = 3, threads = 256>,
  test.flash = #vx.flash<tile = [1, 1, 32, 0], keys = 16, threads = 128>,
  test.cpu_product = #vx.cpu_product<tile = [132, 192]>,
  test.cpu_depthwise = #vx.cpu_depthwise<tile = [1, 4, 0, 0]>,
  test.cpu_flash = #vx.cpu_flash<tile = [1, 1, 64, 0]>,
  test.sort = #vx.sort<tile = [1, 0], threads = 256>,
  test.cpu_sort = #vx.cpu_sort<tile = [8, 0]>,
  test.product = #vx.product<family = rows, prologue = 1>,
  test.product_in_loops = #vx.product<family = loops, reason = narrow>,
  test.product_of_images = #vx.product<family = cpu_product, channels_last = true, packed = true, neighbours = 4>} {}

// -----

// expected-error @+1 {{expects a workgroup for each row: a tile size of 1 for dimension 0, got 2}}
module attributes {test.strategy = #vx.sort<tile = [2, 0], threads = 64>} {}

// -----

// expected-error @+1 {{expects a workgroup for each row: a tile size of 0 for dimension 1, got 4}}
module attributes {test.strategy = #vx.sort<tile = [1, 4], threads = 64>} {}

// -----

// expected-error @+1 {{expects a power of two of threads, got 96}}
module attributes {test.strategy = #vx.sort<tile = [1, 0], threads = 96>} {}

// -----

// expected-error @+1 {{expects tile sizes of at least 0, got -1 for dimension 0}}
module attributes {test.strategy = #vx.cpu_sort<tile = [-1, 0]>} {}

// -----

// expected-error @+1 {{expects tile sizes of at least 0, got -8 for dimension 1}}
module attributes {test.strategy = #vx.loops<tile = [4, -8]>} {}

// -----

// expected-error @+1 {{expects 'threads' of at least 1, got 0}}
module attributes {test.strategy = #vx.loops<tile = [4], threads = 0>} {}

// -----

// expected-error @+1 {{struct is missing required parameter: tile}}
module attributes {test.strategy = #vx.loops<threads = 4>} {}

// -----

// expected-error @+1 {{duplicate or unknown struct parameter name: vector}}
module attributes {test.strategy = #vx.loops<tile = [4], vector = [1]>} {}

// -----

// expected-error @+1 {{expects tile sizes of at least 1, got 0 for dimension 0}}
module attributes {test.strategy = #vx.elementwise<tile = [0], lanes = 1, threads = 64>} {}

// -----

// expected-error @+1 {{expects 'lanes' of at least 1, got 0}}
module attributes {test.strategy = #vx.elementwise<tile = [4], lanes = 0, threads = 64>} {}

// -----

// expected-error @+1 {{expects 'threads' of at least 1, got -1}}
module attributes {test.strategy = #vx.elementwise<tile = [4], lanes = 1, threads = -1>} {}

// -----

// expected-error @+1 {{expects a last tile size that is a multiple of 4 lanes, got 6}}
module attributes {test.strategy = #vx.elementwise<tile = [4, 6], lanes = 4, threads = 64>} {}

// -----

// expected-error @+1 {{expects tile sizes of at least 0, got -1 for dimension 0}}
module attributes {test.strategy = #vx.thread_rows<tile = [-1], threads = 64>} {}

// -----

// expected-error @+1 {{expects 'threads' of at least 1, got 0}}
module attributes {test.strategy = #vx.thread_rows<tile = [1], threads = 0>} {}

// -----

// expected-error @+1 {{expects 'runs' of at least 1, got 0}}
module attributes {test.strategy = #vx.rows<tile = [1, 0], sharing = workgroup, runs = 0, lanes = 4, threads = 128>} {}

// -----

// expected-error @+1 {{expects 'lanes' of at least 1, got 0}}
module attributes {test.strategy = #vx.rows<tile = [1, 0], sharing = workgroup, runs = 1, lanes = 0, threads = 128>} {}

// -----

// expected-error @+1 {{expects tile sizes of at least 0, got -2 for dimension 1}}
module attributes {test.strategy = #vx.rows<tile = [1, -2], sharing = workgroup, runs = 1, lanes = 4, threads = 128>} {}

// -----

// expected-error @+1 {{expects a multiple of 128 threads, got 96}}
module attributes {test.strategy = #vx.rows<tile = [1, 0], sharing = workgroup, runs = 1, lanes = 4, threads = 96>} {}

// -----

// expected-error @+1 {{expects a multiple of 128 threads, got 0}}
module attributes {test.strategy = #vx.rows<tile = [1, 0], sharing = workgroup, runs = 1, lanes = 4, threads = 0>} {}

// -----

// expected-error @+1 {{expects at most one dimension with several rows, got 4 for dimension 0 and 2 for dimension 1}}
module attributes {test.strategy = #vx.rows<tile = [4, 2, 0], sharing = subgroup, runs = 1, lanes = 4, threads = 128>} {}

// -----

// expected-error @+1 {{expects one row for each workgroup that shares it, got 4}}
module attributes {test.strategy = #vx.rows<tile = [4, 0], sharing = workgroup, runs = 1, lanes = 4, threads = 128>} {}

// -----

// expected-error @+1 {{expects several rows for each workgroup whose subgroups share them, got 1}}
module attributes {test.strategy = #vx.rows<tile = [1, 0], sharing = subgroup, runs = 1, lanes = 4, threads = 128>} {}

// -----

// expected-error @+1 {{expects columns that divide the 128 threads, got 48}}
module attributes {test.strategy = #vx.rows<tile = [0, 48], sharing = columns, runs = 1, lanes = 1, threads = 128>} {}

// -----

// expected-error @+1 {{expects tile sizes of at least 1, got 0 for dimension 0}}
module attributes {test.strategy = #vx.tiled_product<tile = [0, 16], block_rows = 4, block_columns = 4, step = 8, slices = 4>} {}

// -----

// expected-error @+1 {{expects 'step' of at least 1, got 0}}
module attributes {test.strategy = #vx.tiled_product<tile = [16, 16], block_rows = 4, block_columns = 4, step = 0, slices = 4>} {}

// -----

// expected-error @+1 {{expects 'slices' of at least 1, got 0}}
module attributes {test.strategy = #vx.tiled_product<tile = [16, 16], block_rows = 4, block_columns = 4, step = 8, slices = 0>} {}

// -----

// expected-error @+1 {{expects blocks of 1, 2 or a multiple of 4 rows and columns up to 128, got 3 x 4}}
module attributes {test.strategy = #vx.tiled_product<tile = [12, 12], block_rows = 3, block_columns = 4, step = 8, slices = 1>} {}

// -----

// expected-error @+1 {{expects blocks of 1, 2 or a multiple of 4 rows and columns up to 128, got 4 x 0}}
module attributes {test.strategy = #vx.tiled_product<tile = [12, 12], block_rows = 4, block_columns = 0, step = 8, slices = 1>} {}

// -----

// expected-error @+1 {{expects a tile of whole blocks: a multiple of 4 x 4 elements, got 24}}
module attributes {test.strategy = #vx.tiled_product<tile = [2, 12], block_rows = 4, block_columns = 4, step = 8, slices = 1>} {}

// -----

// expected-error @+1 {{expects at most 1024 blocks and slices, got 1024 x 2}}
module attributes {test.strategy = #vx.tiled_product<tile = [64, 64], block_rows = 2, block_columns = 2, step = 8, slices = 2>} {}

// -----

// expected-error @+1 {{expects at most 1024 blocks and slices, got too many x 2}}
module attributes {test.strategy = #vx.tiled_product<tile = [4611686018427387904, 4], block_rows = 2, block_columns = 2, step = 8, slices = 2>} {}

// -----

// expected-error @+1 {{expects tile sizes of at least 1, got 0 for dimension 0}}
module attributes {test.strategy = #vx.mma<tile = [0, 32], step = 32, stages = 2, threads = 64>} {}

// -----

// expected-error @+1 {{expects 'step' of at least 1, got 0}}
module attributes {test.strategy = #vx.mma<tile = [32, 32], step = 0, stages = 2, threads = 64>} {}

// -----

// expected-error @+1 {{expects 'stages' of at least 2, got 1}}
module attributes {test.strategy = #vx.mma<tile = [32, 32], step = 32, stages = 1, threads = 64>} {}

// -----

// expected-error @+1 {{expects 'threads' of at least 1, got 0}}
module attributes {test.strategy = #vx.mma<tile = [32, 32], step = 32, stages = 2, threads = 0>} {}

// -----

// expected-error @+1 {{expects tile sizes of at least 0, got -16 for dimension 2}}
module attributes {test.strategy = #vx.flash<tile = [1, 1, -16, 0], keys = 8, threads = 128>} {}

// -----

// expected-error @+1 {{expects 'keys' of at least 1, got 0}}
module attributes {test.strategy = #vx.flash<tile = [1, 1, 16, 0], keys = 0, threads = 128>} {}

// -----

// expected-error @+1 {{expects 'threads' of at least 1, got 0}}
module attributes {test.strategy = #vx.flash<tile = [1, 1, 16, 0], keys = 8, threads = 0>} {}

// -----

// expected-error @+1 {{expects tile sizes of at least 0, got -132 for dimension 0}}
module attributes {test.strategy = #vx.cpu_product<tile = [-132, 192]>} {}

// -----

// expected-error @+1 {{expects tile sizes of at least 0, got -4 for dimension 1}}
module attributes {test.strategy = #vx.cpu_depthwise<tile = [1, -4, 0, 0]>} {}

// -----

// expected-error @+1 {{expects tile sizes of at least 0, got -1 for dimension 2}}
module attributes {test.strategy = #vx.cpu_flash<tile = [1, 1, -1, 0]>} {}

// -----

// expected-error @+1 {{unknown attribute `strategy` in dialect `vx`}}
module attributes {test.strategy = #vx.strategy<tile = [1]>} {}

// -----

// expected-error @+1 {{expects 'neighbours' of at least 1, got 0}}
module attributes {test.wrong = #vx.product<family = mma, neighbours = 0>} {}

// -----

// expected-error @+1 {{expects a reason for a product in plain loops and for no other one, got family 'loops' with reason 'none'}}
module attributes {test.wrong = #vx.product<family = loops>} {}

// -----

// expected-error @+1 {{expects a reason for a product in plain loops and for no other one, got family 'mma' with reason 'narrow'}}
module attributes {test.wrong = #vx.product<family = mma, reason = narrow>} {}

// -----

// expected-error @+1 {{expects 0 or 1 as the operand of 'prologue', or -1 for none, got 2}}
module attributes {test.wrong = #vx.product<family = rows, prologue = 2>} {}

// -----

func.func @product(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{expects '#vx.product' of a product as 'vx.product', got #vx.product<family = mma> of 'vx.neg'}}
  %0 = vx.neg %a {vx.product = #vx.product<family = mma>} : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
