// RUN: not vx-opt %s --vx-specialize-dims="dims=bath=1" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not vx-opt %s --vx-specialize-dims="dims=batch=0" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not vx-opt %s --vx-specialize-dims="dims=batch=3" 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: not vx-opt %s --vx-specialize-dims="dims=k=3" 2>&1 | FileCheck %s --check-prefix=DATA
// RUN: not vx-opt %s --vx-specialize-dims="dims=batch" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not vx-opt %s --vx-specialize-dims="dims=batch=2,batch=4" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not vx-opt %s --vx-specialize-dims="dims=batch=2" 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// UNKNOWN:  error: expected the name of a dimension symbol, got 'bath'; the module has batch, k
// RANGE:    error: symbol 'batch': expected a value from 2 to 8, got 0
// MULTIPLE: error: symbol 'batch': expected a multiple of 2, got 3
// DATA:     error: symbol 'k': expected no value, since the program computes it, got 3
// FORM:     error: vx-specialize-dims expects name=value, got 'batch'
// TWICE:    error: symbol 'batch': expected one value, got two
// NEGATIVE: error: dimension 'batch - 3': expected a size of at least 0, got -1
vx.symbol "batch" min = 2 max = 8 multiple = 2
vx.symbol data_dependent "k"
func.func @main(%x: tensor<?xf32, #vx.enc<[batch]>>) -> tensor<?xf32, #vx.enc<[batch - 3]>> {
  %0 = vx.slice %x starts [#vx.dim<0>] strides [1] : tensor<?xf32, #vx.enc<[batch]>> -> tensor<?xf32, #vx.enc<[batch - 3]>>
  return %0 : tensor<?xf32, #vx.enc<[batch - 3]>>
}
