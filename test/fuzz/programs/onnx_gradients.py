"""Gradients of random ONNX models in f64, as the reference evaluator has them, and differences of what ONNX Runtime computes."""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import onnx_ops
import op_case  # of test/e2e, as program.py says
from run_gradients import SIDES, derivative, moved
from program_gradients import STEPS, Inconclusive, array_of, is_moved
from wide_models import with_doubles

OWN = 0.5  # how often each input's element counts, so that the total depends on all of them
LARGEST_CONSTANT = 24  # bytes of a constant whose numbers are in the text of a module


class OnnxDifferences:
    """The derivative of a model along a direction, as its gradients give it and as differences do."""

    def __init__(self, tools, root, program):
        self.tools, self.root = tools, root
        for value in program.inputs:
            value.constant = value.constant and not is_moved(value)
        sizes = lambda program: program.runs[0]
        self.model = with_doubles(onnx_ops.model_of([program], sizes)[0])
        self.results = [f"p0_{value.name}_" for value in program.results if value.dtype == "f32"]
        self.inputs = {f"p0_{value.name}": array_of(program, value) for value in program.inputs if not value.constant}
        self.moved = [f"p0_{value.name}" for value in program.inputs if is_moved(value)]
        random = np.random.default_rng(program.seed)
        self.direction = {name: random.uniform(-1, 1, self.inputs[name].shape) for name in self.moved}
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        try:
            self.session = onnxruntime.InferenceSession(self.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            at = self.session.run(self.results, self.inputs)
        except Exception:
            raise Inconclusive("ONNX Runtime does not compute it in f64") from None
        if not all(np.isfinite(result).all() for result in at):
            raise Inconclusive("results that are not finite")
        self.seeds = [np.asarray(op_case.signed(0.5, 1.5)(random, np.shape(result))) for result in at]

    def terms(self, arrays):
        arrays = {name: np.asarray(array) for name, array in arrays.items()}
        return [np.asarray(result) * seed for result, seed in zip(self.session.run(self.results, arrays), self.seeds)] + [OWN * arrays[name] for name in self.moved]

    def with_total(self):
        """The model with the sum of the terms as the output "total"."""
        graph, terms = self.model.graph, []
        # The text of a module leaves the numbers of larger constants out, so these are inputs, as the seeds are.
        for tensor in [one for one in graph.initializer if numpy_helper.to_array(one).nbytes > LARGEST_CONSTANT]:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
            self.inputs[tensor.name] = numpy_helper.to_array(tensor)
            graph.initializer.remove(tensor)
        for name, seed in [*zip(self.results, self.seeds), *((name, np.float64(OWN)) for name in self.moved)]:
            graph.input.append(helper.make_tensor_value_info(f"{name}/seed", TensorProto.DOUBLE, np.shape(seed)))
            self.inputs[f"{name}/seed"] = np.asarray(seed)
            graph.node.append(helper.make_node("Mul", [name, f"{name}/seed"], [f"{name}/seeded"]))
            graph.node.append(helper.make_node("ReduceSum", [f"{name}/seeded"], [f"{name}/sum"], keepdims=0))
            terms.append(f"{name}/sum")
        graph.node.append(helper.make_node("Sum", terms, ["total"]))
        graph.output.append(helper.make_tensor_value_info("total", TensorProto.DOUBLE, []))
        return self.model

    def compute(self):
        around = [self.terms(arrays) for step in STEPS for arrays in moved(self.inputs, self.direction, step)]
        onnx.save(self.with_total(), f"{self.root}/total.onnx")
        self.tools.must("vx-compile", f"{self.root}/total.onnx", f"--grad=total:{','.join(self.moved)}", "--target=cpu", "--stop-after=grad", "-o", f"{self.root}/gradient.mlir")
        files = []
        for number, (name, array) in enumerate(self.inputs.items()):
            np.save(f"{self.root}/in_{number}.npy", array)
            files += ["--input", f"{name}=@{self.root}/in_{number}.npy"]
        for name in self.moved:
            files += ["--output", f"grad/{name}=@{self.root}/out_{name}.npy"]
        self.tools.must("vx-interpret", f"{self.root}/gradient.mlir", "--function=gradient", *files)
        products = [np.load(f"{self.root}/out_{name}.npy") * self.direction[name] for name in self.moved]
        size = sum(float(abs(product).sum()) for product in products) + max(sum(float(abs(term).sum()) for term in terms) for terms in around)
        numbers = [sum(float(term.sum()) for term in terms) for terms in around]
        wants = [derivative(numbers[4 * number:4 * number + 4], step) for number, step in enumerate(STEPS)]
        return sum(float(product.sum()) for product in products), wants, size, [derivative(numbers[4:], STEPS[1], side) for side in SIDES]
