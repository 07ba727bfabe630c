// RUN: vx-opt %s --verify-diagnostics --vx-specialize-dims=dims=n=2

// The symbol of a kernel is another one than that of the model, though it may have its name.
// expected-error @+1 {{vx-specialize-dims expects a module without kernels, whose symbols have names of their own, got 'k'; run it before the kernels are made}}
module {
  vx.symbol "n"
  vx.kernel @k "" symbols ["n"] workgroups <n> #vx.loops<tile = []> {
  ^bb0(%x: tensor<?xf32, #vx.enc<[n]>>):
    vx.yield %x : tensor<?xf32, #vx.enc<[n]>>
  }
}
