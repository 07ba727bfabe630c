// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-replace-head='classes=7'

// expected-error-re @+1 {{--classes: expected the weight of a product that computes dimension 1 of output 'y' (f32[4,10]), got an input; met from there: '{{.*}}:6:10'}}
module {
  func.func @main(%x: tensor<4x10xf32>) -> (tensor<4x10xf32> {vx.name = "y"}) {
    %0 = vx.exp %x : tensor<4x10xf32>
    return %0 : tensor<4x10xf32>
  }
}

// -----

// expected-error-re @+1 {{--classes: expected the weight of a product that computes dimension 1 of output 'y' (f32[4,10]), got '{{.*}}:16:10'; met from there: '{{.*}}:17:10', '{{.*}}:16:10'}}
module {
  func.func @main(%x: tensor<4x5xf32>) -> (tensor<4x10xf32> {vx.name = "y"}) {
    %0 = vx.concat axis = 1(%x, %x) : tensor<4x5xf32>, tensor<4x5xf32>
    %1 = vx.neg %0 : tensor<4x10xf32>
    return %1 : tensor<4x10xf32>
  }
}

// -----

// A number in every place has no weight behind it.
// expected-error-re @+1 {{--classes: expected the weight of a product that computes dimension 0 of output 'y' (f32[10]), got none; met from there: '{{.*}}:29:10'}}
module {
  func.func @main(%x: tensor<10xf32>) -> (tensor<10xf32> {vx.name = "y"}) {
    %0 = vx.constant dense<1.0> : tensor<10xf32>
    %1 = vx.neg %0 : tensor<10xf32>
    return %1 : tensor<10xf32>
  }
}

// -----

// expected-error @+1 {{--classes: expected the weight or the bias of a product, got 'scale', which has no known start}}
module {
  func.func @main(%x: tensor<4x5xf32>) -> (tensor<4x10xf32> {vx.name = "y"}) {
    %w = vx.constant dense<1.0> : tensor<10x5xf32> {names = ["w"]}
    %s = vx.constant dense<1.0> : tensor<10xf32> {names = ["scale"]}
    %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [1] : tensor<4x5xf32>, tensor<10x5xf32>
    %1 = vx.broadcast %s, [1] : tensor<10xf32> -> tensor<4x10xf32>
    %2 = vx.mul %0, %1 : tensor<4x10xf32>, tensor<4x10xf32>
    return %2 : tensor<4x10xf32>
  }
}

// -----

// A table that is read by rows, too.
// expected-error-re @+1 {{--classes: expected 'table', which makes the classes, to have no other reader, got '{{.*}}:57:10'}}
module {
  func.func @main(%x: tensor<4x5xf32>) -> (tensor<4x10xf32> {vx.name = "y"}, tensor<10x5xi1> {vx.name = "z"}) {
    %w = vx.constant dense<1.0> : tensor<10x5xf32> {names = ["table"]}
    %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [1] : tensor<4x5xf32>, tensor<10x5xf32>
    %1 = vx.exp %w : tensor<10x5xf32>
    %2 = vx.compare gt %1, %w : tensor<10x5xf32>, tensor<10x5xf32>
    return %0, %2 : tensor<4x10xf32>, tensor<10x5xi1>
  }
}

// -----

// expected-error @+1 {{--classes: expected an axis of classes of output 'y' (f32[]) from 0 to -1, got -1}}
module {
  func.func @main(%x: tensor<f32>) -> (tensor<f32> {vx.name = "y"}) {
    %0 = vx.exp %x : tensor<f32>
    return %0 : tensor<f32>
  }
}
