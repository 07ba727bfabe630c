// Passes that take gradients.
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

    Fails where a name is none of these, or no float, and where there is a function `gradient`. Needs: the import phase. Keeps: dynamic shapes.
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
    In the order of the program, so that the gradient of a gradient is that of the ops that compute the first. Behind it there is no op of
    the `vx.gradient` family: watched and stopped values are those that they were made of, and `vx.custom_gradient` is its `forward`.

        %dx = vx.gradient %y wrt(%x : ...)                 ->    %0 = vx.cos %x
        // with %y = vx.sin %x                                   %dx = vx.mul %seed, %0

    Fails on each op on the way without a gradient, and on a value of `wrt` that the differentiated one does not depend on, with the source
    node's name. Needs: the graph phase. Keeps: dynamic shapes. Numerics: those of the ops that it makes.
  }];
  let dependentDialects = ["::vx::VXDialect"];
}

#endif
