"""Compiles and runs random ONNX models on each device and compares every element with ONNX Runtime."""
import numpy as np
import onnx
import onnxruntime

import onnx_ops
from check import PERTURBED, BadCall, Batch, Failure, Want
from program import NUMPY, Program, encode


class OnnxBatch(Batch):
    """Programs of one model: with symbols, and with the sizes of the first run where there are symbols."""

    def write(self):
        self.has_symbols = any(len(program.runs) > 1 for program in self.programs)

    def path(self, function, kind):
        return f"{self.folder}/{function}.{kind}"

    def compile(self):
        for function in ["main"] + (["fixed"] if self.has_symbols else []):
            model, _ = onnx_ops.model_of(self.programs, (lambda program: None) if function == "main" else self.sizes(0))
            onnx.save(model, self.path(function, "onnx"))
            self.compile_model(self.path(function, "onnx"), self.path(function, "vxm"))

    def session(self, perturbed):
        """Of the model with all its optimisations switched off, so that it is what the model says."""
        model, deltas = onnx_ops.model_of(self.programs, self.reference_sizes, perturbed)
        try:
            return self.open(model), deltas
        except Exception as error:
            raise Failure("refused", f"ONNX Runtime: {str(error)[:800]}")

    def open(self, model):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def reference(self, run):
        self.reference_sizes = self.sizes(run)
        inputs = {f"p{index}_{value.name}": value.array(program.seed, self.reference_sizes(program)) for index, program in enumerate(self.programs)
                  for value in program.inputs if not value.constant}
        names = [(index, value) for index, program in enumerate(self.programs) for value in program.results]
        outputs = [f"p{index}_{value.name}_" for index, value in names]

        def results(session, more=None):
            try:
                return session.run(outputs, {**inputs, **(more or {})})
            except Exception as error:
                raise Failure("refused", f"ONNX Runtime: {str(error)[:800]}")

        arrays, copies = results(self.session(False)[0]), []
        if not all(value.exact for _, value in names):
            session, deltas = self.session(True)
            for copy in range(PERTURBED):
                more = {}
                for number, (name, (dtype, shape, relative)) in enumerate(deltas.items()):
                    unit = np.random.default_rng([copy, number]).uniform(-1, 1, shape)
                    more[name] = encode(1 + np.sign(unit) * np.maximum(abs(unit), 0.3) * relative, dtype).reshape(shape)
                copies.append(results(session, more))
        wants = {}
        for place, (index, value) in enumerate(names):
            if value.dtype == "sequence":
                wants[index, value.name] = Want(value, arrays[place], [])
                continue
            array = np.asarray(arrays[place])
            if array.dtype != NUMPY[value.dtype]:
                raise Failure("reference", f"'{value.name}' is {array.dtype}, expected {value.dtype}: the generator is wrong")
            wants[index, value.name] = Want(value, array, [copy[place] for copy in copies])
        return wants

    def bad_calls(self):
        yield from super().bad_calls()
        for index, program in enumerate(self.programs):
            lists = {id(value) for op in program.all_ops() for value in onnx_ops.operands_at(op, onnx_ops.LISTS)}
            for value in program.inputs:
                if id(value) in lists and not value.constant:
                    array = value.array(program.seed, program.runs[0])
                    for place, wrong in (*((place, number + 1) for place, number in enumerate(array)), (-1, -3)):
                        changed = array.copy()
                        changed[place] = wrong
                        yield BadCall("list", index, f"'{value.name}' with {changed.tolist()}", "", {(index, value.name): changed})
                for axis in value.own_symbols:
                    array = value.array(program.seed, program.runs[0])
                    shape = list(array.shape)
                    shape[axis] += 1 if shape[axis] else 2  # 1 is repeated 0 times, which ONNX Runtime refuses for products
                    yield BadCall("symbol", index, f"'{value.name}' with {shape[axis]} along dimension {axis}", "", {(index, value.name): np.resize(array, shape)})

    def is_wrong(self, call):
        """Sizes and lists may be right as well: no node may rely on a name that two inputs share, a size may be repeated. ONNX Runtime decides, by what is needed."""
        if call.fault not in ("list", "symbol", "size"):
            return True
        needed = [Program(program.seed, program.inputs, onnx_ops.live(program.ops, {id(value) for value in program.results}), program.results,
                          program.header, program.runs, program.fault) for program in self.programs]
        inputs = {f"p{at}_{value.name}": call.changed.get((at, value.name), value.array(program.seed, self.sizes(0)(program)))
                  for at, program in enumerate(self.programs) for value in program.inputs if not value.constant}
        try:
            self.open(onnx_ops.model_of(needed, lambda program: None)[0]).run(None, inputs)
            return False
        except Exception:
            return True

    def called(self, function):
        return [self.path(function, "vxm")]

    def gather(self, op):
        return (op.text["axis"], 1) if op.kind == "Gather" else None

    def save_to(self, folder, text):
        for function in ["main"] + (["fixed"] if self.has_symbols else []):
            model, _ = onnx_ops.model_of(self.programs, (lambda program: None) if function == "main" else self.sizes(0))
            onnx.save(model, f"{folder}/{function}.onnx")
        with open(f"{folder}/README", "w") as file:
            file.write(text + "\n" + onnx.printer.to_text(model))
        return f"{folder}/main.onnx"
