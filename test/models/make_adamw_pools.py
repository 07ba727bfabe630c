#!/usr/bin/env python3
"""AdamW over pools: many parameters of odd sizes that lie in one variable, each in a slot of its own, and so do their gradients and moments.

  make_adamw_pools.py OUT.mlir [--parameters 50] [--floats 20000]

`backward` stores each gradient, `step` updates all parameters by one kernel over the pools, `checked_step` reads rows of a parameter by
indices that may be wrong as well, `predict` reads parameters. The pools have about as many floats as asked for. To measure the step:

  vx-compile OUT.mlir --target=cuda -o OUT.vxm && vx-bench OUT.vxm --device=cuda --function step --per-kernel
"""
import argparse

NUMBERS = {"b1": 0.9, "c1": 0.1, "b2": 0.99, "c2": 0.01, "e": 1e-8, "wd": 0.001}
SLOT = 16  # floats: where a variable in a pool may begin
ROWS = 4


def tensor(*dims, of="f32"):
    return f"tensor<{''.join(f'{dim}x' for dim in dims)}{of}>"


class Pools:
    """`shapes` and `offsets`, in floats, of the parameters; `size` of a pool."""

    def __init__(self, parameters=50, floats=20000):
        scale = max(1, int((floats / parameters / 54) ** 0.5))
        self.shapes, self.offsets, self.size = [], [], 0
        for k in range(parameters):
            rows, columns = 1 + 7 * k % 11 * scale | 1, 3 + 5 * k % 13 * scale | 1
            shape = (columns * rows | 1,) if k % 5 == 4 else (rows, columns)
            self.shapes.append(shape)
            self.offsets.append(self.size)
            self.size += -(-(shape[0] if len(shape) == 1 else rows * columns) // SLOT) * SLOT
        # Each gradient is made of columns of its own.
        self.inner = parameters + max(shape[0] for shape in self.shapes if len(shape) == 2)
        self.outer = parameters + max(shape[-1] for shape in self.shapes)

    def get_text(self):
        lines, pool = [], tensor(self.size)
        for name, role in (("parameters", "parameter"), ("first", "optimizer"), ("second", "optimizer"), ("gradients", "gradient")):
            lines.append(f"vx.variable @{name} role = {role} : {pool}")
        for k, (shape, offset) in enumerate(zip(self.shapes, self.offsets)):
            lines.append(f"vx.variable @w{k} role = parameter in @parameters at {4 * offset} : {tensor(*shape)}")
            lines.append(f"vx.variable @g{k} role = gradient in @gradients at {4 * offset} : {tensor(*shape)}")
        return "\n".join([*lines, self.get_backward(), self.get_step("step"), self.get_step("checked_step"), self.get_predict(), ""])

    def get_slice(self, result, of, width, columns, start=0):
        return f"  %{result} = vx.slice %{of} starts [#vx.dim<0>, #vx.dim<{start}>] strides [1, 1] : {tensor(ROWS, width)} -> {tensor(ROWS, columns)}"

    def get_backward(self):
        """Of a matrix: a product of two inputs; of a vector: a sum over rows, and a part of the vector."""
        lines = [f'func.func @backward(%x: {tensor(ROWS, self.inner)} {{vx.name = "x"}}, %d: {tensor(ROWS, self.outer)} {{vx.name = "d"}}) {{',
                 "  %half = vx.constant dense<0.5> : tensor<f32>"]
        for k, shape in enumerate(self.shapes):
            columns, t = shape[-1], tensor(*shape)
            lines.append(self.get_slice(f"d{k}", "d", self.outer, columns, k))
            if len(shape) == 2:
                lines.append(self.get_slice(f"x{k}", "x", self.inner, shape[0], k))
                lines.append(f"  %g{k} = vx.contract %x{k}, %d{k} batch = [] x [] contracting = [0] x [0] : {tensor(ROWS, shape[0])}, {tensor(ROWS, columns)}")
            else:
                lines += [f"  %w{k} = vx.variable_load @w{k} : {t}", f"  %h{k} = vx.broadcast %half, [] : tensor<f32> -> {t}", f"  %p{k} = vx.mul %w{k}, %h{k} : {t}, {t}",
                          f"  %s{k} = vx.reduce sum %d{k} axes = [0] : {tensor(ROWS, columns)}", f"  %g{k} = vx.add %s{k}, %p{k} : {t}, {t}"]
            lines.append(f"  vx.variable_store %g{k}, @g{k} : {t}")
        return "\n".join([*lines, "  return", "}"])

    def get_step(self, name):
        t, lines = tensor(self.size), []
        first, rows = tensor(*self.shapes[0]), tensor(3, self.shapes[0][1])
        if name == "step":
            lines.append(f'func.func @step(%lr: tensor<f32> {{vx.name = "lr"}}) {{')
        else:
            lines += [f'func.func @checked_step(%lr: tensor<f32> {{vx.name = "lr"}}, %i: {tensor(3, of="i64")} {{vx.name = "i"}}) -> ({rows} {{vx.name = "rows"}}) {{',
                      f"  %w0 = vx.variable_load @w0 : {first}", f"  %rows = vx.gather %w0, %i axis = 0 : {first}, {tensor(3, of='i64')}"]
        for value, variable in (("w", "parameters"), ("m", "first"), ("v", "second"), ("g", "gradients")):
            lines.append(f"  %{value} = vx.variable_load @{variable} : {t}")
        lines.append(f"  %l = vx.broadcast %lr, [] : tensor<f32> -> {t}")
        for number, value in NUMBERS.items():
            lines += [f"  %{number}_ = vx.constant dense<{value:e}> : tensor<f32>", f"  %{number} = vx.broadcast %{number}_, [] : tensor<f32> -> {t}"]
        for result, op, *operands in (("m0", "mul", "m", "b1"), ("m1", "mul", "g", "c1"), ("m2", "add", "m0", "m1"), ("v0", "mul", "v", "b2"), ("gg", "mul", "g", "g"),
                                      ("v1", "mul", "gg", "c2"), ("v2", "add", "v0", "v1"), ("s", "sqrt", "v2"), ("d", "add", "s", "e"), ("q", "div", "m2", "d"),
                                      ("decay", "mul", "w", "wd"), ("p", "add", "q", "decay"), ("u", "mul", "p", "l"), ("w2", "sub", "w", "u")):
            lines.append(f"  %{result} = vx.{op} {', '.join('%' + operand for operand in operands)} : {', '.join([t] * len(operands))}")
        lines += [f"  vx.variable_store %{value}, @{variable} : {t}" for value, variable in (("m2", "first"), ("v2", "second"), ("w2", "parameters"))]
        return "\n".join([*lines, f"  return %rows : {rows}" if name != "step" else "  return", "}"])

    def get_predict(self):
        """The product with a matrix, and a vector."""
        matrix, vector = self.get_shown()
        rows, columns = self.shapes[matrix]
        result, v = tensor(ROWS, columns), tensor(*self.shapes[vector])
        return "\n".join([f'func.func @predict(%x: {tensor(ROWS, self.inner)} {{vx.name = "x"}}) -> ({result} {{vx.name = "y"}}, {v} {{vx.name = "z"}}) {{',
                          f"  %w = vx.variable_load @w{matrix} : {tensor(rows, columns)}", f"  %v = vx.variable_load @w{vector} : {v}",
                          self.get_slice("xs", "x", self.inner, rows),
                          f"  %y = vx.contract %xs, %w batch = [] x [] contracting = [1] x [0] : {tensor(ROWS, rows)}, {tensor(rows, columns)}",
                          f"  %z = vx.neg %v : {v}", f"  return %y, %z : {result}, {v}", "}"])

    def get_shown(self):
        """The numbers of the last matrix and the last vector."""
        last = {len(shape): k for k, shape in enumerate(self.shapes)}
        return last[2], last[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--parameters", type=int, default=50)
    parser.add_argument("--floats", type=int, default=20000)
    options = parser.parse_args()
    pools = Pools(options.parameters, options.floats)
    with open(options.out, "w") as file:
        file.write(pools.get_text())
    print(f"{options.parameters} parameters in pools of {pools.size} floats")


if __name__ == "__main__":
    main()
