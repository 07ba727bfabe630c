// RUN: vx-opt %s --split-input-file --vx-convert-to-schedule --verify-diagnostics | FileCheck %s

// A reshape is the same buffer, sizes are i64s, and the kernel's symbol is its scalar.
// CHECK-LABEL: vxrt.program @views symbols ["n"]
// CHECK-NEXT:  ^bb0(%[[N:[^ :]+]]: i64, %[[X:[^ :]+]]: !vxrt.buffer):
// CHECK:         %[[Y:.+]] = vxrt.allocate
// CHECK:         vxrt.dispatch @exp[%{{.+}}] (%[[X]]) -> (%[[Y]]) scalars(%{{.+}})
// CHECK:         vxrt.return %[[Y]]
vx.symbol "n"
func.func @views(%x: tensor<?x2xf32, #vx.enc<[n, 2]>>) -> tensor<?xf32, #vx.enc<[n * 2]>> {
  %0 = vx.reshape %x : tensor<?x2xf32, #vx.enc<[n, 2]>> -> tensor<?xf32, #vx.enc<[n * 2]>>
  %1 = vx.dispatch @exp(%0) symbols [#vx.dim<n * 2>] : (tensor<?xf32, #vx.enc<[n * 2]>>) -> tensor<?xf32, #vx.enc<[n * 2]>>
  return %1 : tensor<?xf32, #vx.enc<[n * 2]>>
}
vx.kernel @exp "0" symbols ["s0"] workgroups <ceildiv(s0, 64)> #vx.loops<tile = [64]> {
^bb0(%x: tensor<?xf32, #vx.enc<[s0]>>):
  %0 = vx.exp %x : tensor<?xf32, #vx.enc<[s0]>>
  vx.yield %0 : tensor<?xf32, #vx.enc<[s0]>>
}

// -----

// The host reads what it must know and no more: the condition comes back once, behind the commands before it.
// CHECK-LABEL: vxrt.program @computed_branch
// CHECK:         vxrt.dispatch @not
// CHECK:         %[[C:.+]] = vxrt.read_i64 i1 %
// CHECK:         vxrt.if %[[C]] -> !vxrt.buffer
func.func @computed_branch(%c: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %d = vx.dispatch @not(%c) symbols [] : (tensor<i1>) -> tensor<i1>
  %0 = vx.if %d -> tensor<4xf32> {
    vx.yield %a : tensor<4xf32>
  } else {
    vx.yield %b : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
vx.kernel @not "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<i1>):
  %0 = vx.not %x : tensor<i1>
  vx.yield %0 : tensor<i1>
}

// -----

// What the caller gives nobody waits for: it is read first, once, however it is used, and through other shapes.
// CHECK-LABEL: vxrt.program @inputs
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    %[[C:.+]] = vxrt.read_input 0 : i1
// CHECK-NEXT:    %[[D:.+]] = vxrt.read_input 3 : i1
// CHECK-NOT:     vxrt.read_
// CHECK:         vxrt.if %[[C]] -> !vxrt.buffer
// CHECK:         vxrt.if %[[D]] -> !vxrt.buffer
// CHECK:         vxrt.if %[[C]] -> !vxrt.buffer
func.func @inputs(%c: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>, %d: tensor<1xi1>) -> tensor<4xf32> {
  %0 = vx.if %c -> tensor<4xf32> {
    vx.yield %a : tensor<4xf32>
  } else {
    vx.yield %b : tensor<4xf32>
  }
  %scalar = vx.reshape %d : tensor<1xi1> -> tensor<i1>
  %1 = vx.if %scalar -> tensor<4xf32> {
    vx.yield %0 : tensor<4xf32>
  } else {
    vx.yield %b : tensor<4xf32>
  }
  %2 = vx.if %c -> tensor<4xf32> {
    vx.yield %1 : tensor<4xf32>
  } else {
    vx.yield %a : tensor<4xf32>
  }
  return %2 : tensor<4xf32>
}

// -----

// A variable is stored last, behind a check for faults.
// CHECK-LABEL: vxrt.program @state
// CHECK:         %[[V:.+]] = vxrt.variable @v
// CHECK:         vxrt.check_faults
// CHECK-NEXT:    vxrt.segment {
// CHECK-NEXT:      vxrt.copy %{{.+}}, %{{.+}}
// CHECK-NEXT:    }
// CHECK-NEXT:    vxrt.return
vx.variable @v : tensor<4xf32>
func.func @state(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = vx.variable_load @v : tensor<4xf32>
  vx.variable_store %x, @v : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// An op that nobody runs is an error that names it.
func.func @not_scheduled(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'vx.exp' of }}
  %0 = vx.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What is wanted of the inputs' sizes alone is the program's; what data decides is checked where it is known, before the commands that rely
// on it, and so is all that a region wants.
// CHECK-LABEL: vxrt.program @constraints
// CHECK:         vxrt.read_input 2 : i64 symbol "k"
// CHECK:         vxrt.check_range {{.*}} "size 'k'"
// CHECK:         %[[DOUBLE:.+]] = vxrt.calc mul
// CHECK-NEXT:    vxrt.check equal %[[DOUBLE]], %{{.+}} "sizes 'k * 2' and 'n' equal"
// CHECK:         vxrt.if
// CHECK:           vxrt.check at_least {{.*}} "size 'n' to be at least '3'"
// CHECK:       constraints = [{kind = 3 : i32, lhs = #vx.dim<m>, node = "{{.*}}", rhs = #vx.dim<n>, want = "sizes 'm' and 'n' equal or one of them 1"}]
vx.symbol "m"
vx.symbol "n"
vx.symbol data_dependent "k"
func.func @constraints(%x: tensor<?xf32, #vx.enc<[n]>>, %y: tensor<?xf32, #vx.enc<[m]>>, %count: tensor<i64>, %flag: tensor<i1>)
    -> tensor<?xf32, #vx.enc<[n]>> {
  vx.constraint broadcast <m>, <n> "sizes 'm' and 'n' equal or one of them 1"
  vx.bind_symbol "k" = %count
  vx.constraint equal <k * 2>, <n> "sizes 'k * 2' and 'n' equal"
  vx.if %flag {
    vx.constraint at_least <n>, <3> "size 'n' to be at least '3'"
    vx.yield
  } else {
    vx.yield
  }
  return %x : tensor<?xf32, #vx.enc<[n]>>
}

// -----

// A size that only a branch binds is read first, too, and is checked in the branch alone: it is no size of the program.
// CHECK-LABEL: vxrt.program @bound_in_a_branch
// CHECK:         vxrt.read_input 1 : i1
// CHECK-NEXT:    vxrt.read_input 0 : i64{{$}}
// CHECK-NOT:     vxrt.check_range
// CHECK:         vxrt.if
// CHECK:           vxrt.check_range {{.*}} "size 'k'"
vx.symbol data_dependent "k"
func.func @bound_in_a_branch(%count: tensor<i64>, %flag: tensor<i1>) {
  vx.if %flag {
    vx.bind_symbol "k" = %count
    vx.constraint at_least <k>, <3> "size 'k' to be at least '3'"
    vx.yield
  } else {
    vx.yield
  }
  return
}

// -----

// The host is given a list and gives one, whose sizes bind what the result's type leaves open; to the caller numbers of strings are strings.
// CHECK-LABEL: vxrt.program @words
// CHECK:         %[[NONE:.+]] = vxrt.list_empty i32
// CHECK:         %[[GIVEN:.+]] = vxrt.list_insert %[[NONE]]
// CHECK:         %[[MADE:.+]] = vxrt.host_call "string_split"("-", -1) [i32, i64] %[[GIVEN]]
// CHECK:         %{{.+}}, %[[SIZES:.+]]:2 = vxrt.list_get %[[MADE]]
// CHECK:         %{{.+}}, %{{.+}} = vxrt.list_get %[[MADE]]
// CHECK:         vxrt.return %{{.+}}, %{{.+}}, %[[SIZES]]#1
// CHECK:         function_type = (tensor<2x!vx.string>) -> tensor<2x?x!vx.string, #vx.enc<[2, parts]>>
vx.symbol data_dependent "parts"
func.func @words(%x: tensor<2xi32> {vx.is_string}) -> (tensor<2x?xi32, #vx.enc<[2, parts]>> {vx.is_string}) {
  %0:2 = vx.host_function string_split(%x) {text = "-"} : (tensor<2xi32>) -> (tensor<2x?xi32, #vx.enc<[2, parts]>>, tensor<2xi64>)
  return %0#0 : tensor<2x?xi32, #vx.enc<[2, parts]>>
}

// -----

// An optional sequence is the list itself, or none; what asks for the sequence checks that there is one.
// CHECK-LABEL: vxrt.program @optional_sequences
// CHECK-NEXT:  ^bb0(%[[C:[^ :]+]]: !vxrt.buffer, %[[S:[^ :]+]]: !vxrt.object, %[[X:[^ :]+]]: !vxrt.buffer):
// CHECK:         %[[O:.+]] = vxrt.if
// CHECK-NEXT:      vxrt.yield %[[S]]
// CHECK:           %[[NONE:.+]] = vxrt.no_list f32
// CHECK-NEXT:      vxrt.yield %[[NONE]]
// CHECK:         %[[HAS:.+]] = vxrt.has_list %[[O]]
// CHECK-NEXT:    %[[ONE:.+]] = vxrt.const 1
// CHECK-NEXT:    vxrt.check equal %[[HAS]], %[[ONE]] "the optional to hold 1 sequence"
// CHECK:         %[[EMPTY:.+]] = vxrt.list_empty f32
// CHECK:         %[[T:.+]] = vxrt.list_insert %[[EMPTY]][%{{.+}}], %[[X]]
// CHECK:         vxrt.return %[[O]], %[[T]]
func.func @optional_sequences(%c: tensor<i1>, %s: !vx.sequence<tensor<2xf32>>, %x: tensor<2xf32>)
    -> (!vx.sequence<tensor<2xf32>>, !vx.optional<tensor<2xf32>>) {
  %o = vx.if %c -> !vx.optional<!vx.sequence<tensor<2xf32>>> {
    %0 = vx.optional %s : !vx.sequence<tensor<2xf32>> -> !vx.optional<!vx.sequence<tensor<2xf32>>>
    vx.yield %0 : !vx.optional<!vx.sequence<tensor<2xf32>>>
  } else {
    %0 = vx.optional -> !vx.optional<!vx.sequence<tensor<2xf32>>>
    vx.yield %0 : !vx.optional<!vx.sequence<tensor<2xf32>>>
  }
  %1 = vx.optional_value %o : !vx.optional<!vx.sequence<tensor<2xf32>>> -> !vx.sequence<tensor<2xf32>>
  %2 = vx.optional %x : tensor<2xf32> -> !vx.optional<tensor<2xf32>>
  return %1, %2 : !vx.sequence<tensor<2xf32>>, !vx.optional<tensor<2xf32>>
}
