// RUN: vx-opt %s --verify-diagnostics --vx-constants-to-variables='train=auto'

// All at once.
!x = tensor<4x3xf32>
!c = tensor<3xf32>
// expected-error-re @+4 {{--batch-norm: expected the mean of node '{{.*}}' to be an initializer for this use alone, got a value that is no initializer; use --batch-norm=frozen}}
// expected-error-re @+3 {{--batch-norm: expected the variance of node '{{.*}}' to be an initializer for this use alone, got one of another batch norm or another statistic, too; use --batch-norm=frozen}}
// expected-error-re @+2 {{--batch-norm: expected the variance of node '{{.*}}' to be an initializer for this use alone, got one in a loop or a branch, where it is not collected; use --batch-norm=frozen}}
// expected-error-re @+1 {{--batch-norm: expected the mean of node '{{.*}}' to be an initializer for this use alone, got one in a loop or a branch, where it is not collected; use --batch-norm=frozen}}
module {
  func.func @main(%x: !x {vx.name = "x"}, %c: !c {vx.name = "c"}, %on: tensor<i1> {vx.name = "on"}) -> (!x {vx.name = "y"}) {
    %s = vx.constant dense<2.0> : !c {names = ["scale"]}
    %v = vx.constant dense<1.0> : !c {names = ["variance"]}
    %m = vx.constant dense<1.0> : !c {names = ["mean"]}
    %0:3 = vx.batch_norm %x, %s, %s, %c, %v epsilon = 0.1 momentum = 0.9 : !x, !c, !c, !c, !c
    %1:3 = vx.batch_norm %0#0, %s, %s, %m, %v epsilon = 0.1 momentum = 0.9 : !x, !c, !c, !c, !c
    %2 = vx.if %on -> !x {
      %3:3 = vx.batch_norm %1#0, %s, %s, %m, %v epsilon = 0.1 momentum = 0.9 : !x, !c, !c, !c, !c
      vx.yield %3#0 : !x
    } else {
      vx.yield %1#0 : !x
    }
    return %2 : !x
  }
}
