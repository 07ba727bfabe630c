// What vx-compile makes of a model up to a phase, vx-opt makes of the text of the phase before by the phase's name, for each target. Empty
// lines are no difference.

// RUN: rm -rf %t && mkdir -p %t
// RUN: vx-compile %s --target=cpu --stop-after=import -o %t/import
// RUN: vx-compile %s --target=cpu --stop-after=graph -o %t/graph
// RUN: vx-compile %s --target=cpu --stop-after=grad -o %t/grad
// RUN: vx-compile %s --target=cpu --stop-after=optimised -o %t/optimised
// RUN: vx-opt --pass-pipeline='builtin.module(vx-graph{dims=n=16})' %t/import | grep . > %t/graph.opt
// RUN: vx-compile %s --target=cpu --precision=tf32 --dim n=16 --stop-after=graph -o - | grep . > %t/graph.16
// RUN: diff %t/graph.16 %t/graph.opt
// RUN: vx-opt --pass-pipeline='builtin.module(vx-grad)' %t/graph | grep . > %t/grad.opt
// RUN: grep . %t/grad | diff - %t/grad.opt
// RUN: vx-opt --pass-pipeline='builtin.module(vx-optimised)' %t/grad | grep . > %t/optimised.opt
// RUN: grep . %t/optimised | diff - %t/optimised.opt

// One version for each size of a list, behind a comment that names it, and the general one, whose size stays a symbol. A version has the
// declaration of what it fixes.
// RUN: vx-compile %s --target=cpu --precision=tf32 --dim n=16,32 --stop-after=optimised -o - | FileCheck %s --check-prefix=VERSIONS
// VERSIONS: // n = 16
// VERSIONS: vx.symbol "n" min = 1 max = 64
// VERSIONS: vx.softmax {{.*}} tensor<16x8xf32>
// VERSIONS: // n = 32
// VERSIONS: vx.softmax {{.*}} tensor<32x8xf32>
// VERSIONS: vx.softmax {{.*}} tensor<?x8xf32, #vx.enc<[n, 8]>>
// RUN: vx-opt --pass-pipeline='builtin.module(vx-optimised{precision=tf32 dims=n=16})' %t/grad | grep . > %t/optimised.opt
// RUN: vx-compile %s --target=cpu --precision=tf32 --dim n=16,32 --stop-after=optimised -o - | sed '/n = 32/,$d' | grep -v '^//\|vx.symbol' | grep . > %t/optimised.16
// RUN: diff %t/optimised.16 %t/optimised.opt

// The comment that names the target is vx-compile's own.
// RUN: vx-compile %s --target=cpu --stop-after=fused -o - | grep -v '^//' | grep . > %t/fused.cpu
// RUN: vx-opt --pass-pipeline='builtin.module(vx-fused{target=cpu})' %t/optimised | grep . > %t/fused.opt
// RUN: diff %t/fused.cpu %t/fused.opt
// RUN: FileCheck %s --check-prefix=CPU --input-file=%t/fused.opt
// CPU: vx.range
// CPU: vx.fusion
// CPU: vx.pack
// RUN: vx-compile %s --target=vulkan --stop-after=fused -o - | grep -v '^//' | grep . > %t/fused.vulkan
// RUN: vx-opt --pass-pipeline='builtin.module(vx-fused{target=vulkan})' %t/optimised | grep . > %t/fused.opt
// RUN: diff %t/fused.vulkan %t/fused.opt
// RUN: not diff %t/fused.cpu %t/fused.vulkan
// RUN: vx-compile %s --target=cuda --cuda=sm_90a --stop-after=fused -o - | grep -v '^//' | grep . > %t/fused.cuda
// RUN: vx-opt --pass-pipeline='builtin.module(vx-fused{target=cuda variants=sm_90a})' %t/optimised | grep . > %t/fused.opt
// RUN: diff %t/fused.cuda %t/fused.opt

// What may fault is named by its place, in a text by that of the text.
// RUN: vx-compile %s --target=vulkan --stop-after=kernels -o - | grep -v '^//' | grep . | sed 's/"[^"]*:[0-9]*:[0-9]*"/"place"/g' > %t/kernels.vulkan
// RUN: vx-opt --pass-pipeline='builtin.module(vx-kernels{target=vulkan})' %t/fused.vulkan | grep . | sed 's/"[^"]*:[0-9]*:[0-9]*"/"place"/g' > %t/kernels.opt
// RUN: diff %t/kernels.vulkan %t/kernels.opt
// RUN: vx-compile %s --target=vulkan --stop-after=schedule -o - | grep -v '^//' | grep . | sed 's/"[^"]*:[0-9]*:[0-9]*"/"place"/g' > %t/schedule.vulkan
// RUN: vx-opt --pass-pipeline='builtin.module(vx-schedule)' %t/kernels.vulkan | grep . | sed 's/"[^"]*:[0-9]*:[0-9]*"/"place"/g' > %t/schedule.opt
// RUN: diff %t/schedule.vulkan %t/schedule.opt

// RUN: not vx-opt --pass-pipeline='builtin.module(vx-fused{target=tpu})' %t/optimised 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: expected the name of a target, got 'tpu'
// RUN: not vx-opt --pass-pipeline='builtin.module(vx-fused{target=cuda variants=sm_1})' %t/optimised 2>&1 | FileCheck %s --check-prefix=VARIANT
// VARIANT: unknown variant 'sm_1' of target 'cuda', known are: sm_80

vx.symbol "n" min = 1 max = 64
func.func @main(%x: tensor<?x8xf32, #vx.enc<[n, 8]>>, %w: tensor<8x4xf32>, %i: tensor<2xi64>) -> (tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<2x4xf32>) {
  %c = vx.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<8x4xf32>
  %0 = vx.contract %x, %c batch = [] x [] contracting = [1] x [0] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<8x4xf32>
  %1 = vx.softmax %x axis = 1 : tensor<?x8xf32, #vx.enc<[n, 8]>>
  %2 = vx.gather %w, %i axis = 0 : tensor<8x4xf32>, tensor<2xi64>
  return %0, %1, %2 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<2x4xf32>
}
