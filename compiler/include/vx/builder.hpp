// Models as C++ programs: tensors with element types and sizes that the C++ compiler checks, layers that are plain
// structs, losses and optimizers. A graph is compiled to a module, like an ONNX file. docs/dsl.md is a tutorial.
//
//   struct Mlp {
//     Linear<64, 512> fc1; Linear<512, 10> fc2;
//     explicit Mlp(Scope s) : fc1(s / "fc1"), fc2(s / "fc2") {}
//     auto operator()(Tensor<f32, "batch", 64> x) const { return fc2(relu(fc1(x))); }
//   };
//
// C++20, g++ 12 or clang 17 and newer. It uses vxb.h, of libvx_compiler; modules run without it.
#ifndef VX_BUILDER_HPP
#define VX_BUILDER_HPP

#include "vx/builder/attention.hpp"
#include "vx/builder/control.hpp"
#include "vx/builder/dim.hpp"
#include "vx/builder/functions.hpp"
#include "vx/builder/graph.hpp"
#include "vx/builder/layers.hpp"
#include "vx/builder/tensor.hpp"
#include "vx/builder/training.hpp"

#endif
