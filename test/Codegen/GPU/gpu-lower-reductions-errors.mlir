// RUN: vx-opt %s --split-input-file --verify-diagnostics "--pass-pipeline=builtin.module(vx-convert-to-linalg,func.func(canonicalize,vx-gpu-lower-reductions))"

// A strategy that does not fit the rows of its kernel.
// expected-error @+1 {{expects a strategy that fits its rows: want 2 sizes in 'vector', got #vx.strategy<"rows", workgroup = [1, 0], vector = [4], reduction = [], threads = 128>}}
vx.kernel @one_vector_size "x" symbols [] workgroups <1> #vx.strategy<"rows", workgroup = [1, 0], vector = [4], reduction = [], threads = 128> {
^bb0(%a: tensor<16x64xf32>):
  %r = vx.softmax %a axis = 1 : tensor<16x64xf32>
  vx.yield %r : tensor<16x64xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its rows: want a multiple of 128 threads, got #vx.strategy<"rows", workgroup = [1, 0], vector = [1, 4], reduction = [], threads = 96>}}
vx.kernel @threads "x" symbols [] workgroups <1> #vx.strategy<"rows", workgroup = [1, 0], vector = [1, 4], reduction = [], threads = 96> {
^bb0(%a: tensor<16x64xf32>):
  %r = vx.softmax %a axis = 1 : tensor<16x64xf32>
  vx.yield %r : tensor<16x64xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its rows: want one dimension with several rows, got #vx.strategy<"subgroup_rows", workgroup = [4, 4, 0], vector = [1, 4], reduction = [], threads = 128>}}
vx.kernel @two_tiles "x" symbols [] workgroups <1> #vx.strategy<"subgroup_rows", workgroup = [4, 4, 0], vector = [1, 4], reduction = [], threads = 128> {
^bb0(%a: tensor<16x16x64xf32>):
  %r = vx.softmax %a axis = 2 : tensor<16x16x64xf32>
  vx.yield %r : tensor<16x16x64xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its rows: want one row for each workgroup, got #vx.strategy<"rows", workgroup = [4, 0], vector = [1, 4], reduction = [], threads = 128>}}
vx.kernel @rows_by_a_workgroup "x" symbols [] workgroups <1> #vx.strategy<"rows", workgroup = [4, 0], vector = [1, 4], reduction = [], threads = 128> {
^bb0(%a: tensor<16x64xf32>):
  %r = vx.softmax %a axis = 1 : tensor<16x64xf32>
  vx.yield %r : tensor<16x64xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its rows: want several rows for each workgroup, got #vx.strategy<"subgroup_rows", workgroup = [1, 0], vector = [1, 4], reduction = [], threads = 128>}}
vx.kernel @row_by_subgroups "x" symbols [] workgroups <1> #vx.strategy<"subgroup_rows", workgroup = [1, 0], vector = [1, 4], reduction = [], threads = 128> {
^bb0(%a: tensor<16x64xf32>):
  %r = vx.softmax %a axis = 1 : tensor<16x64xf32>
  vx.yield %r : tensor<16x64xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its rows: want columns that divide the 128 threads, got #vx.strategy<"columns", workgroup = [0, 48], vector = [1, 1], reduction = [], threads = 128>}}
vx.kernel @columns "x" symbols [] workgroups <1> #vx.strategy<"columns", workgroup = [0, 48], vector = [1, 1], reduction = [], threads = 128> {
^bb0(%a: tensor<64x48xf32>):
  %r = vx.softmax %a axis = 0 : tensor<64x48xf32>
  vx.yield %r : tensor<64x48xf32>
}
