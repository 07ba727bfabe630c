// RUN: vx-opt %s --verify-diagnostics --vx-convert-to-rocdl=chip=abc

// expected-error @+1 {{unknown GPU 'abc'}}
module {
}
