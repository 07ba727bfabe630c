// RUN: not vx-opt %s --vx-specialize-dims="dims=bath=1" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not vx-opt %s --vx-specialize-dims="dims=batch=0" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not vx-opt %s --vx-specialize-dims="dims=batch=3" 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: not vx-opt %s --vx-specialize-dims="dims=k=3" 2>&1 | FileCheck %s --check-prefix=DATA
// RUN: not vx-opt %s --vx-specialize-dims="dims=batch" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not vx-opt %s --vx-specialize-dims="dims=batch=2,batch=4" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not vx-opt %s --vx-specialize-dims="dims=batch=2" 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// UNKNOWN:  error: no dimension symbol 'bath', there is: batch, k
// RANGE:    error: symbol 'batch' takes values from 2 to 8, got 0
// MULTIPLE: error: symbol 'batch' takes multiples of 2, got 3
// DATA:     error: symbol 'k' takes its value while the program runs, it cannot be set to 3
// FORM:     error: vx-specialize-dims expects name=value, got 'batch'
// TWICE:    error: symbol 'batch' is given twice
// NEGATIVE: error: dimension 'batch - 3' becomes -1, want a size of at least 0
vx.symbol "batch" min = 2 max = 8 multiple = 2
vx.symbol data_dependent "k"
func.func @main(%x: tensor<?xf32, #vx.enc<[batch]>>) -> tensor<?xf32, #vx.enc<[batch - 3]>> {
  %0 = vx.slice %x starts [#vx.dim<0>] strides [1] : tensor<?xf32, #vx.enc<[batch]>> -> tensor<?xf32, #vx.enc<[batch - 3]>>
  return %0 : tensor<?xf32, #vx.enc<[batch - 3]>>
}
