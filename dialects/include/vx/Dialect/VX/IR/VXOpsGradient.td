// Ops that mark differentiated values and the ends of gradients; `vx-expand-gradients` removes all of them. Ops and
// attributes of training, and ops with another meaning in a training step than elsewhere.
#ifndef VX_DIALECT_VX_IR_VXOPSGRADIENT
#define VX_DIALECT_VX_IR_VXOPSGRADIENT

include "vx/Dialect/VX/IR/VXBase.td"

def VX_GradientOp : VX_InferredOp<"gradient", [VX_NonDifferentiable, Pure, AttrSizedOperandSegments, VX_Directive, VX_Constrained]> {
  let summary = "the gradients of a value with respect to others";
  let description = [{
    Of the sum of the elements of `value`, each multiplied by its element of `seed` where that is given, the derivatives with respect to
    each element of each of `wrt`: a result for each, of its type. They flow through the ops between `wrt` and `value`, in the block of
    this op and those around it. The gradient of a gradient is another `vx.gradient` of its results, behind it.

    Of a value that `value` does not depend on, or only where the derivative is 0, the gradient is zeros. A note says so, but with `zero_unreached`.

    A value of `wrt` that is the result of an op and not the input of a function is that of `vx.watch`: else a simplification of the
    program, which puts one value in the place of an equal one, would change what is meant.

    - C1: all are tensors of floats.
    - C2: `seed` has the type of `value`, up to dimensions.
    - C3: there is at least one value in `wrt`.

    Example:

        %dx, %dw = vx.gradient %loss wrt(%x, %w : tensor<8xf32>, tensor<8x4xf32>) : tensor<f32>
  }];
  let arguments = (ins VX_FloatTensor:$value, Variadic<VX_FloatTensor>:$wrt, Optional<VX_FloatTensor>:$seed, UnitAttr:$zero_unreached);
  let results = (outs Variadic<VX_FloatTensor>:$results);
  let assemblyFormat = [{
    $value `wrt` `(` $wrt `:` type($wrt) `)` (`seed` `(` $seed^ `:` type($seed) `)`)? (`zero_unreached` $zero_unreached^)?
    attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

class VX_MarkOp<string opMnemonic, list<Trait> traits> : VX_InferredOp<opMnemonic, [Pure, VX_Directive, VX_Unconstrained] # traits, [{
    ::mlir::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location>,
        $cppClass::Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(adaptor.getInput().getType());
      return ::mlir::success();
    }
  }]> {
  let arguments = (ins VX_FloatTensor:$input);
  let results = (outs VX_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def VX_WatchOp : VX_MarkOp<"watch", [VX_Differentiable]> {
  let summary = "a value that gradients are taken with respect to";
  let description = [{ `result = input`. No simplification puts another value in the place of this one. }];
}

def VX_StopGradientOp : VX_MarkOp<"stop_gradient", [VX_NonDifferentiable]> {
  let summary = "a value that is a constant for gradients";
  let description = [{ `result = input`. }];
}

def VX_CustomGradientOp : VX_Op<"custom_gradient", [VX_Differentiable, Pure, SingleBlock, IsolatedFromAbove, VX_Directive, VX_Unconstrained]> {
  let summary = "a computation and its gradients";
  let description = [{
    `forward` computes the results of the inputs. Where gradients are taken through the op, `pullback` computes those of the inputs that are
    floats, in their order, of its arguments: the inputs, the results, and the gradients of the results that are floats.

    - C1: the arguments of `forward` are of the inputs' types, and it yields the results' types, up to dimensions.
    - C2: the arguments of `pullback` are of the types of the inputs, of the results, and of the results that are floats; it yields the types
      of the inputs that are floats.

    Example, rounding through which gradients pass as if it were not there:

        %r = vx.custom_gradient (%x) : (tensor<4xf32>) -> tensor<4xf32> {
        ^bb0(%a: tensor<4xf32>):
          %0 = vx.round %a : tensor<4xf32>
          vx.yield %0 : tensor<4xf32>
        } pullback {
        ^bb0(%a: tensor<4xf32>, %r: tensor<4xf32>, %g: tensor<4xf32>):
          vx.yield %g : tensor<4xf32>
        }
  }];
  let arguments = (ins Variadic<VX_Tensor>:$inputs);
  let results = (outs Variadic<VX_Tensor>:$results);
  let regions = (region SizedRegion<1>:$forward, SizedRegion<1>:$pullback);
  let assemblyFormat = "`(` $inputs `)` `:` functional-type($inputs, $results) $forward `pullback` $pullback attr-dict";
  let hasVerifier = 1;
}

//===-- Training ---------------------------------------------------------------------------------------------------===//

def VX_DropoutOp : VX_InferredOp<"dropout", [Pure, VX_Directive, VX_Differentiable, VX_Decomposable, VX_Unconstrained]> {
  let summary = "leaves elements out at random while a model is trained";
  let description = [{
    Without `key`, as everywhere but in a training step, `result = input`, and all of `mask` is true. With it

        mask[i]   = bits[i] >= round(ratio * 2^32)          with  bits = vx.random_bits key number = number
        result[i] = mask[i] ? input[i] * (1 / (1 - ratio)) : 0

    where 1 / (1 - ratio) is rounded to the element type. The gradient is the same dropout of the gradient: the mask is drawn again.
    `vx-build-train-step` gives the dropouts of a training step their key and numbers, and `vx-expand-training-forms` leaves none of these ops.

    - C1: `ratio` is at least 0 and below 1.

    Example: `%r, %mask = vx.dropout %x key(%seed) ratio = 0.5 number = 2 : tensor<8x4xf32>`.
  }];
  let arguments = (ins VX_FloatTensor:$input, Optional<VX_I64Scalar>:$key, F64Attr:$ratio, DefaultValuedAttr<I64Attr, "0">:$number);
  let results = (outs VX_FloatTensor:$result, VX_BoolTensor:$mask);
  let assemblyFormat = "$input (`key` `(` $key^ `)`)? `ratio` `=` $ratio (`number` `=` $number^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def VX_BatchNormOp : VX_InferredOp<"batch_norm", [Pure, VX_Directive, VX_Differentiable, VX_Decomposable, VX_Constrained]> {
  let summary = "normalisation of each channel by statistics that training collects";
  let description = [{
    For each channel, which is a place in dimension 1 of `input`,

        result = (input - m) / sqrt(v + epsilon) * scale + bias

    where m and v are `mean` and `variance`, which are then the other two results as well. With `of_batch`, as in a training step, m and v are
    the mean and the variance (the mean of squares around m) of the channel's elements, and the other results what is to be collected:

        new_mean     = mean * momentum + m * (1 - momentum)
        new_variance = variance * momentum + v * (1 - momentum)

    which are `mean` and `variance` where there are no elements. These are ONNX's formulas; PyTorch collects n / (n - 1) times v, of n
    elements. Gradients flow through m and v. `vx-build-train-step` marks the batch norms of a training step, and
    `vx-expand-training-forms` leaves none of these ops.

    - C1: `input` has at least 2 dimensions.
    - C2: `scale`, `bias`, `mean` and `variance` have one dimension, of the size of dimension 1 of `input`.
    - C3: `epsilon` is finite and at least 0.
    - C4: `momentum` is at least 0 and at most 1.
    - C5: `mean` and `variance` have the same element type.
  }];
  let arguments = (ins VX_FloatTensor:$input, VX_FloatTensor:$scale, VX_FloatTensor:$bias, VX_FloatTensor:$mean, VX_FloatTensor:$variance,
                       F32Attr:$epsilon, F32Attr:$momentum, UnitAttr:$of_batch);
  let results = (outs VX_FloatTensor:$result, VX_FloatTensor:$new_mean, VX_FloatTensor:$new_variance);
  let assemblyFormat = [{
    $input `,` $scale `,` $bias `,` $mean `,` $variance `epsilon` `=` $epsilon `momentum` `=` $momentum (`of_batch` $of_batch^)? attr-dict
    `:` type($input) `,` type($scale) `,` type($bias) `,` type($mean) `,` type($variance)
  }];
  let hasVerifier = 1;
}

def VX_TrainingAttr : VX_Attr<"Training", "training"> {
  let summary = "which functions of a module train its model";
  let description = [{
    The attribute `vx.training` of a module, which the module file states for who trains. `train_step` takes a batch of the user's data
    (`inputs`) and numbers that steer it (`hypers`), updates variables, and gives the loss first and then what else there is to report
    (`metrics`, its outputs in the order of a report). A metric is a mean; `counts` has for each the output that says over how many elements, or of
    which sum of weights, and an empty string where that is the number of the batch's rows. `evaluate` takes the same data and gives the same results, and `predict` is the model.
    `backward` and `step` are the two halves of a step, where they are functions of their own. `optimizer` and `loss` are text for summaries;
    `rate` is the learning rate where the one who trains says none.
    A result without a name is called by its number.

    - C1: it stands on the module, and each function that it names is a public one of the module with a body.
    - C2: `inputs` and `metrics` are lists of strings, `hypers` has strings under `rate`, `seed` and `scale`; there are some only with a `train_step`.
    - C3: each input of `train_step` is one of `inputs` or `hypers`, and there once.
    - C4: `rate` and `scale` are scalars of f32, and `seed` is one of i64.
    - C5: each of `metrics` is a result of `train_step`, there once, and a scalar of f32.
    - C6: the inputs of `evaluate` are `inputs`, in this order.
    - C7: `counts` has a string for each of `metrics`: an empty one, or a result of `train_step` that is a scalar of f32 and no metric.

    Example:

        module attributes {vx.training = #vx.training<train_step = @train_step, evaluate = @evaluate, predict = @predict,
            inputs = ["image", "label"], hypers = {rate = "rate"}, metrics = ["loss", "accuracy"], counts = ["loss.count", "loss.count"],
            optimizer = "adamw", loss = "cross_entropy">}
  }];
  let parameters = (ins OptionalParameter<"::mlir::FlatSymbolRefAttr">:$train_step, OptionalParameter<"::mlir::FlatSymbolRefAttr">:$evaluate,
                        OptionalParameter<"::mlir::FlatSymbolRefAttr">:$predict, OptionalParameter<"::mlir::FlatSymbolRefAttr">:$backward,
                        OptionalParameter<"::mlir::FlatSymbolRefAttr">:$step, OptionalParameter<"::mlir::ArrayAttr">:$inputs,
                        OptionalParameter<"::mlir::DictionaryAttr">:$hypers, OptionalParameter<"::mlir::ArrayAttr">:$metrics,
                        OptionalParameter<"::mlir::StringAttr">:$optimizer, OptionalParameter<"::mlir::StringAttr">:$loss,
                        OptionalParameter<"::mlir::FloatAttr">:$rate, OptionalParameter<"::mlir::ArrayAttr">:$counts);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

// The numbers are those of the module file.
def VX_HyperKind : I32EnumAttr<"HyperKind", "what a number steers that a training step takes", [
    I32EnumAttrCase<"rate", 0>, I32EnumAttrCase<"seed", 1>, I32EnumAttrCase<"scale", 2>]> {
  let cppNamespace = "::vx";
}

#endif
