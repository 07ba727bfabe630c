// A program that no vision model needs: sizes that depend on data, a loop that the host runs, a branch, a sequence, an index that
// comes from the input, and a variable that lives across calls.
//
//   vx-compile running_sum.mlir --target=cpu,vulkan
//   vx-run running_sum.vxm --input x=@x.npy --input pick=@pick.npy --print

vx.symbol "n" min = 1 max = 1048576
vx.symbol data_dependent "nonzeros"
vx.symbol data_dependent "i"
vx.symbol data_dependent "kept"

// The sum of the values of all calls.
vx.variable @total : tensor<f32>

func.func @main(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"}, %pick: tensor<i64> {vx.name = "pick"})
    -> (tensor<f32> {vx.name = "sum"}, tensor<f32> {vx.name = "total"}, tensor<f32> {vx.name = "picked"},
        tensor<?xf32, #vx.enc<[kept]>> {vx.name = "kept"}, !vx.sequence<tensor<f32>> {vx.name = "partial_sums"}) {
  %zero = vx.constant dense<0.0> : tensor<f32>
  %true = vx.constant dense<true> : tensor<i1>

  // The elements that are not zero: how many there are is known when they have been counted.
  %count = vx.count_nonzero %x : tensor<?xf32, #vx.enc<[n]>>
  vx.bind_symbol "nonzeros" = %count
  %places = vx.nonzero %x : tensor<?xf32, #vx.enc<[n]>> -> tensor<1x?xi64, #vx.enc<[1, nonzeros]>>
  %flat = vx.reshape %places : tensor<1x?xi64, #vx.enc<[1, nonzeros]>> -> tensor<?xi64, #vx.enc<[nonzeros]>>
  %values = vx.gather %x, %flat axis = 0 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[nonzeros]>>

  // Adds them one by one, and keeps each partial sum.
  %trips = vx.dim_value <nonzeros>
  %empty = vx.sequence_construct : () -> !vx.sequence<tensor<f32>>
  %sum, %sums = vx.loop "i" trip_count(%trips) inits(%zero, %empty : tensor<f32>, !vx.sequence<tensor<f32>>)
      -> tensor<f32>, !vx.sequence<tensor<f32>> {
  ^bb0(%carried: tensor<f32>, %list: !vx.sequence<tensor<f32>>):
    %place = vx.dim_value <i>
    %value = vx.gather %values, %place axis = 0 : tensor<?xf32, #vx.enc<[nonzeros]>>, tensor<i64>
    %next = vx.add %carried, %value : tensor<f32>, tensor<f32>
    %longer = vx.sequence_insert %list, %next : !vx.sequence<tensor<f32>>, tensor<f32> -> !vx.sequence<tensor<f32>>
    vx.yield %true, %next, %longer : tensor<i1>, tensor<f32>, !vx.sequence<tensor<f32>>
  }

  // A positive sum keeps the values, another one keeps nothing but their first two places.
  %positive = vx.compare gt %sum, %zero : tensor<f32>, tensor<f32>
  %kept = vx.if %positive -> tensor<?xf32, #vx.enc<[kept]>> {
    vx.yield %values : tensor<?xf32, #vx.enc<[nonzeros]>>
  } else {
    %pair = vx.constant dense<[1.0, 2.0]> : tensor<2xf32>
    vx.yield %pair : tensor<2xf32>
  }

  %before = vx.variable_load @total : tensor<f32>
  %after = vx.add %before, %sum : tensor<f32>, tensor<f32>
  vx.variable_store %after, @total : tensor<f32>

  // An index that comes from the data: out of range, it fails the call and changes nothing.
  %picked = vx.gather %x, %pick axis = 0 : tensor<?xf32, #vx.enc<[n]>>, tensor<i64>
  return %sum, %after, %picked, %kept, %sums
    : tensor<f32>, tensor<f32>, tensor<f32>, tensor<?xf32, #vx.enc<[kept]>>, !vx.sequence<tensor<f32>>
}
