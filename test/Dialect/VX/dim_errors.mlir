// RUN: vx-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expects a dimension: an integer, a symbol or '(', got '>'}}
func.func private @nothing() attributes {a = #vx.dim<>}

// -----

// expected-error @+1 {{expects a dimension: an integer, a symbol or '(', got '>'}}
func.func private @half_a_sum() attributes {a = #vx.dim<n + >}

// -----

// expected-error @+1 {{unbalanced '(' character in pretty dialect name}}
func.func private @open_parenthesis() attributes {a = #vx.dim<(n + 1>}

// -----

// expected-error @+1 {{expected ','}}
func.func private @one_operand() attributes {a = #vx.dim<floordiv(n)>}

// -----

// A file is not trusted to have few levels: the parser does not run out of stack.
// expected-error @+1 {{expects a dimension expression of at most 64 nested levels, got more}}
func.func private @deep() attributes {a = #vx.dim<((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((n))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))>}
