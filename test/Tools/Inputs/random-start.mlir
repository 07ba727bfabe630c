vx.variable @u role = parameter init = <uniform(-0.25, 0.5)> : tensor<2x3xf16>
vx.variable @n init = <normal(1.0, 2.0)> : tensor<5xf32>
vx.variable @o init = <orthogonal(0.5)> : tensor<3x2xf64>
func.func @main() -> (tensor<2x3xf16> {vx.name = "u"}, tensor<5xf32> {vx.name = "n"}, tensor<3x2xf64> {vx.name = "o"}) {
  %u = vx.variable_load @u : tensor<2x3xf16>
  %n = vx.variable_load @n : tensor<5xf32>
  %o = vx.variable_load @o : tensor<3x2xf64>
  return %u, %n, %o : tensor<2x3xf16>, tensor<5xf32>, tensor<3x2xf64>
}
