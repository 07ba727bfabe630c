// Passes that compute gradients.
#ifndef VX_AUTODIFF_PASSES
#define VX_AUTODIFF_PASSES

include "mlir/Pass/PassBase.td"

def AddGradientFunctionPass : Pass<"vx-add-gradient-function", "::mlir::ModuleOp"> {
  let summary = "Add a function that computes the gradients of a result";
  let description = [{
    Adds a function `gradient` with the inputs of the one that has a result named `of`. Its results are the gradients of the sum of that
    result's elements with respect to each of `wrt`, in this order, named "grad/NAME": each the name of an input, of an initializer (the name
    of a `vx.constant`) or of a variable that the function loads in its own block. It stores no variable.

        func.func @main(%x {vx.name = "x"}) -> {vx.name = "y"}
        ->
        func.func @main(...), func.func @gradient(%x {vx.name = "x"}) -> {vx.name = "grad/x"}    with of=y wrt=x

    Fails if a name is none of these, or no float, and if there is a function `gradient`. Needs: the import phase. Keeps: dynamic shapes.
    Numerics: none.
  }];
  let options = [
    Option<"of", "of", "std::string", "", "The name of a result">,
    ListOption<"wrt", "wrt", "std::string", "Names of inputs, initializers and variables">];
  let dependentDialects = ["::vx::VXDialect"];
}

def ExpandGradientsPass : Pass<"vx-expand-gradients", "::mlir::ModuleOp"> {
  let summary = "Put the ops that compute gradients in the place of vx.gradient";
  let description = [{
    Expands gradients in the order of the program, so that a gradient of a gradient differentiates the ops that compute the first one. After
    this pass there is no op of the `vx.gradient` family: watched and stopped values are the values that they were made of, and `vx.custom_gradient` is its `forward`.

        %dx = vx.gradient %y wrt(%x : ...)                 ->    %0 = vx.cos %x
        // with %y = vx.sin %x                                   %dx = vx.mul %seed, %0

    Fails on each op on the way without a gradient, and on a value of `wrt` that the differentiated one does not depend on, with the source
    node's name. Needs: the graph phase. Keeps: dynamic shapes. Numerics: those of the ops that it makes.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

def ChooseSavedPass : Pass<"vx-choose-saved", "::mlir::ModuleOp"> {
  let summary = "Choose the values of the forward part that a training step stores";
  let description = [{
    In the functions that `vx.training` names as the step and its first half. Their forward part is the ops that their results depend on,
    the loss and the metrics; the rest, which reads values of it, is the reverse part. A value that it reads is in memory until then, or
    computed again.

    Always, cheap values are computed again if that needs fewer stored bytes: a minimum cut by bytes, from the values that are in memory
    anyway or expensive to the reads. Cheap values are chains of up to 8 elementwise ops that are read only by kernels that can compute them
    on the fly: elementwise ops and those with a prologue. A value that is free in each kernel (repeated numbers, bits of dropouts) is never
    stored. The greater or lesser of two values is known from the result, if that is stored.

        %e = vx.exp %x                           %e = vx.exp %x
        %y = vx.mul %e, %s                       %y = vx.mul %e, %s
        %z = vx.contract %y, %w          ->      %z = vx.contract %y, %w
        ...                                      ...
        %d = vx.mul %g, %e   // wants %e         %f = vx.exp %x {vx.copy = 1 : i64}    // where %x is kept anyway
                                                 %d = vx.mul %g, %f

    With `memory`, expensive values are computed again as well, contractions and convolutions too, until an estimate of the arena is at most
    so many bytes at `sizes`. The values that free the most bytes for the longest time at the least cost come first. If no choice fits, the
    smallest one is made.

    Copies have the attribute `vx.copy`, a number, so that a pass that merges equal ops does not undo this; they stand in front of their
    first readers. Needs: gradients expanded, equal ops merged. Keeps: dynamic shapes. Numerics: none.
  }];
  let options = [
    Option<"memory", "memory", "int64_t", "0", "Bytes that the arena of a step may take; 0: any number">,
    ListOption<"sizes", "sizes", "std::string", "Sizes that symbols are planned with: batch=32; 8 for others">];
  let dependentDialects = ["::vx::VXDialect"];
}

def ReplaceHeadPass : Pass<"vx-replace-head", "::mlir::ModuleOp"> {
  let summary = "Give a model another number of classes";
  let description = [{
    Gives dimension `axis` of the output named `of` the size `classes`, and so all values back to the products with constants that make it.
    Their weights, and the constants that are added, are made anew, with the same names. The attribute `vx.init` states their first values
    as variables: between -1 and 1, divided by the root of the number of inputs of a class, as in PyTorch's layers.

        %w = vx.constant dense<...> : tensor<10x64xf32> {names = ["fc.weight"]}    ->    %w = vx.constant dense<0.0> : tensor<7x64xf32>
                                                                                             {names = ["fc.weight"], vx.init = #vx.init<uniform(-0.125, 0.125)>}

    Between them and the output may stand elementwise ops, views, softmax and reductions. Fails if another op makes the classes, if weight
    or bias are read by other ops too, and if a constant on the way is neither. Needs: the import phase. Keeps: dynamic shapes. Numerics:
    none.
  }];
  let options = [
    Option<"of", "of", "std::string", "", "The name of a result; none: the only one of floats">,
    Option<"classes", "classes", "int64_t", "0", "How many there are to be">,
    Option<"axis", "axis", "int64_t", "-1", "The dimension of the classes">];
  let dependentDialects = ["::vx::VXDialect"];
}

def ConstantsToVariablesPass : Pass<"vx-constants-to-variables", "::mlir::ModuleOp"> {
  let summary = "Make variables of the trained constants";
  let description = [{
    Each `vx.constant` with a name that is to be trained becomes a `vx.variable` of this name with the role parameter, which starts with the
    constant's elements, and one `vx.variable_load` in its function. With `auto` in `train` that is each constant of f32 in the place of a
    weight that the output named `of` depends on: a factor of a product or a convolution, a table of rows, the scale or bias of a norm, an
    added bias or table. Other entries of `train`, and those of `freeze`, are patterns of names. A constant that matches one of `train` is
    trained in any position, and one that matches `freeze` is not.

        %0 = vx.constant dense<...> : tensor<8xf32> {names = ["w"]}    ->    vx.variable @w role = parameter : tensor<8xf32> = dense<...>
                                                                             %0 = vx.variable_load @w : tensor<8xf32>

    The mean and variance of each `vx.batch_norm` become variables of the role statistic.

    A constant with `vx.init` becomes a variable with these first values, and must be trained. With `init` = random all trained weights start
    with random values, as in PyTorch's layers:

    - the weight and bias of a product between -1 and 1, divided by the root of the number of elements that an output sums;
    - tables of rows with the deviation 1, tables that are added with 0.02;
    - scales at 1, other biases at 0, and collected means and variances at 0 and 1.

    Notes state for each constant of floats with a name whether it is trained, and its kind or the reason. Fails if a pattern matches
    nothing, and if a constant that is named in full cannot be trained. Needs: the import phase.
    Keeps: dynamic shapes. Numerics: none.
  }];
  let options = [
    Option<"of", "of", "std::string", "", "The name of a result; none: the only one of floats">,
    ListOption<"train", "train", "std::string", "auto, or patterns of names">,
    ListOption<"freeze", "freeze", "std::string", "Patterns of names">,
    Option<"init", "init", "std::string", "\"file\"", "Trained values start as in the file, or with random values: random">];
  let dependentDialects = ["::vx::VXDialect"];
}

def ExpandTrainingFormsPass : Pass<"vx-expand-training-forms", "::mlir::ModuleOp"> {
  let summary = "Replace dropouts and batch norms by the ops that compute them";
  let description = [{
    A `vx.dropout` with a key, and a `vx.batch_norm` of a batch, become the ops that compute them; others are what they are outside of a
    training step. With `ops`, only those of these names.

        %y, %mask = vx.dropout %x ratio = 0.5 : ...    ->    %x, true

    Fails where a size is not known. Needs: the import phase, with sizes inferred. Keeps: dynamic shapes. Numerics: none.
  }];
  let options = [ListOption<"ops", "ops", "std::string", "dropout or batch_norm; none: both">];
  let dependentDialects = ["::vx::VXDialect"];
}

def BuildTrainStepPass : Pass<"vx-build-train-step", "::mlir::ModuleOp"> {
  let summary = "Add the functions that train a model and measure it";
  let description = [{
    Reads the function with the output of `loss`, which is called `predict` from then on, and adds:

    - `evaluate` takes its inputs, and `label` or `target`, which the output is compared with. It returns the loss and other metrics, and
      after them, named `loss.count`, the sum that each is divided by, if that is a sum over the batch without a variable.
    - `train_step` takes these inputs and `rate`, returns the same results, and makes a step. It computes the gradients of the loss with
      respect to all variables of f32 with the role parameter that it depends on, clips them by their norm and then each by its value, and
      updates the variables by the optimizer.

    In `train_step` dropouts drop, by random numbers that follow from an input `seed`, which it has if there is a dropout. Batch norms
    (`vx.batch_norm`) are of the batch there, and their mean and variance, variables of the role statistic, are updated.

    The parameters are in one variable, a pool, and so is the optimizer's state, so that clipping is one reduction and the update one
    kernel. A counter `step` counts the steps made. The module states in `vx.training` the role of each function.

    With `keep-gradients` there are the two halves of `train_step` too. Between them the gradients are in a pool `grad`, and `grad.rows` is
    the number of rows of their mean:

    - `backward` takes the inputs of `train_step` except `rate`, and `keep`. Without `keep` the gradients become those of this batch. With
      it they become grad + (g - grad) * (rows / all). Here `g` are those of this batch, `rows` is the count of its loss's mean, and `all`
      is `rows` + `grad.rows`. These are the gradients of the mean over all batches since `keep` was false last. A batch in which nothing
      counts has gradients of 0.
    - `update` takes `rate`, and applies them as `train_step` does.

    With `scale-loss`, for gradients that would vanish in f16, the gradients are those of the loss times a variable `loss_scale`, and
    divided by it before they are clipped or stored; the result is the loss itself. If not all gradients are finite, by the norm of all of
    them, a step changes no parameter, no state of the optimizer and not `step`. It counts in `loss_scale.skipped` and halves the scale,
    which starts with 65536 and is 1 at the least. 2000 steps in a row without one, counted by `loss_scale.good`, double it, to 2^32 at the
    most. With `keep-gradients` that is decided in `update`. A mean or variance of a batch that is not finite is not collected.

        func.func @main(%x) -> %y    ->    func.func @predict(%x) -> %y
                                           func.func @evaluate(%x, %target) -> %loss
                                           func.func @train_step(%x, %target, %rate) -> %loss         with loss=mse

    With `evaluate` the model has the function of this name. Its first result is the loss, a scalar of f32, and the others are metrics. Then
    `loss` has no effect, and `predict`, which may be none, names the function that predicts. Parameters that match a pattern of `freeze`
    are not trained.

    Fails if the loss reaches no parameter, if the model stores variables, and if its names are in use. Needs: the import phase. Keeps:
    dynamic shapes. Numerics: the formulas of PyTorch's losses and optimizers, in f32.
  }];
  let options = [
    Option<"evaluateName", "evaluate", "std::string", "", "The function that returns the loss; none: it is made of `loss`">,
    Option<"predictName", "predict", "std::string", "", "With `evaluate`: the function that predicts">,
    ListOption<"freeze", "freeze", "std::string", "With `evaluate`: patterns of parameters that are not trained">,
    Option<"usualRate", "rate", "double", "0", "The learning rate if the caller of a step states none; 0: the caller must">,
    Option<"loss", "loss", "std::string", "", "NAME[:[OUTPUT][,key=value...]]">,
    Option<"optimizer", "optimizer", "std::string", "", "NAME[:key=value...]">,
    Option<"clipNorm", "clip-norm", "double", "0", "The greatest norm of all gradients; 0: any">,
    Option<"clipValue", "clip-value", "double", "0", "The greatest absolute value of a gradient; 0: any">,
    Option<"keepGradients", "keep-gradients", "bool", "false", "Add `backward` and `update`">,
    Option<"scaleLoss", "scale-loss", "bool", "false", "Multiply the loss by a scale that follows from its gradients">];
  let dependentDialects = ["::vx::VXDialect"];
}

def ShadowWeightsPass : Pass<"vx-shadow-weights", "::mlir::ModuleOp"> {
  let summary = "Store trained values also in the type in which products read them";
  let description = [{
    With `precision` f16 or bf16, each pool of parameters that functions store gets a variable beside it with its elements in this type, of
    the role shadow, and each store of the pool stores it too, so that one kernel writes both. An op that reads only a parameter rounded to
    this type reads the shadow: no step rounds a weight that the step before could have written rounded. An instance rounds values that it
    writes into the pool itself (docs/module-format.md).

        vx.variable @parameters role = parameter : tensor<64xf32>    ->    the same, and
                                                                           vx.variable @"shadow/parameters" role = shadow source = "parameters" : tensor<64xbf16>
        vx.variable @w role = parameter in @parameters at 0 : ...          vx.variable @"shadow/w" role = shadow in @"shadow/parameters" at 0 : ...
        %0 = vx.variable_load @w : tensor<8x8xf32>                         %1 = vx.variable_load @"shadow/w" : tensor<8x8xbf16>
        %1 = vx.cast %0 : tensor<8x8xf32> -> tensor<8x8xbf16>
        vx.variable_store %2, @parameters : tensor<64xf32>                 the same, and
                                                                           %3 = vx.cast %2 : tensor<64xf32> -> tensor<64xbf16>
                                                                           vx.variable_store %3, @"shadow/parameters" : tensor<64xbf16>

    Leaves alone pools with parts that are stored apart, and parameters that would not begin at a multiple of 64 bytes of the shadow. Needs:
    the precision of products to be stated (`vx-apply-precision`). Keeps: dynamic shapes. Numerics: none.
  }];
  let options = [Option<"precision", "precision", "std::string", "\"f32\"", "f32, tf32, f16 or bf16">];
  let dependentDialects = ["::vx::VXDialect"];
}

#endif
