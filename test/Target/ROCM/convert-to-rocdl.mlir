// RUN: vx-opt %s --verify-diagnostics --vx-convert-to-rocdl=chip=abc

// expected-error @+1 {{expected a GPU that target 'rocm' knows, got 'abc'}}
module {
}
