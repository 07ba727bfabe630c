// Attention: one op with its full signature.
#ifndef VX_DIALECT_VX_IR_VXOPSATTENTION
#define VX_DIALECT_VX_IR_VXOPSATTENTION

include "vx/Dialect/VX/IR/VXBase.td"

def VX_AttentionOp : VX_Op<"attention", [Pure, AttrSizedOperandSegments,
                                         AllElementTypesMatch<["query", "key", "value", "result"]>,
                                         VX_Anchor, VX_StatesResultType, VX_CountsFlops, VX_Differentiable, VX_Constrained, VX_Decomposable]> {
  let summary = "scaled dot-product attention";
  let description = [{
    For each batch b, head h and query s, over the keys t, with g = h / (heads / key heads) and p = s + past:

        x[t] = scale * sum over d of query[b, h, s, d] * key[b, g, t, d]
        x[t] = softcap * tanh(x[t] / softcap)                      with `softcap`
        x[t] = x[t] + bias[b, h, s, t]                             with `bias`
        x[t] = -inf  unless mask[b, h, s, t]                       with `mask`
                     and t <= p                                    with `causal`
                     and t > p - window                            with `window`
        result[b, h, s, e] = sum over t of e^(x[t] - m) / z * value[b, g, t, e],  m = max over t of x[t],  z = sum over t of e^(x[t] - m)
        log_sum_exp[b, h, s] = m + ln(z)

    `query_dims` tells which dimension of `query` is the batch, the heads, the length and the depth, in this order; so do `key_dims`, `value_dims`
    and `result_dims`: no tensor needs to be transposed. `mask` and `bias` are [batch, heads, length, key length], repeated along
    dimensions of size 1.

    A row that holds NaN or +inf, or only -inf, is NaN; with `zero_invalid` it is 0. Without keys the result is 0, and log_sum_exp -inf.

    - C1: `query`, `key`, `value` and `result` have rank 4, and each list of dimensions holds every dimension once.
    - C2: the batches are equal; `key` and `value` have the same heads and length, `query` and `key` the same depth; `result` has the
          batch, heads and length of `query` and the depth of `value`.
    - C3: the heads of `key` divide those of `query`.
    - C4: `mask` and `bias` have rank 4, and each of their dimensions has size 1 or the size named above; `bias` has the element type of `query`.
    - C5: `scale` is finite, `softcap` finite and above 0, `window` at least 1.
    - C6: `log_sum_exp` is [batch, heads, length] of f32, or f64 for f64 inputs.

    Numerics: all is computed and accumulated in f32, or f64 for f64 inputs, and rounded once; the order of a sum is not specified but
    does not depend on threads.

    Example:

        %r = vx.attention %q, %k, %v scale = 1.250000e-01 causal past = <past> dims = [0, 2, 1, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 2, 1, 3]
            : tensor<1x5x8x64xf32>, tensor<1x2x9x64xf32>, tensor<1x2x9x64xf32> -> tensor<1x5x8x64xf32>
  }];
  let arguments = (ins VX_FloatTensor:$query, VX_FloatTensor:$key, VX_FloatTensor:$value, Optional<VX_BoolTensor>:$mask,
                       Optional<VX_FloatTensor>:$bias, F64Attr:$scale, OptionalAttr<F64Attr>:$softcap, UnitAttr:$causal,
                       OptionalAttr<I64Attr>:$window, OptionalAttr<VX_DimAttr>:$past, UnitAttr:$zero_invalid,
                       DenseI64ArrayAttr:$query_dims, DenseI64ArrayAttr:$key_dims, DenseI64ArrayAttr:$value_dims,
                       DenseI64ArrayAttr:$result_dims);
  let results = (outs VX_FloatTensor:$result, Optional<VX_FloatTensor>:$log_sum_exp);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` `(` $mask^ `:` type($mask) `)`)? (`bias` `(` $bias^ `:` type($bias) `)`)?
    `scale` `=` $scale (`softcap` `=` $softcap^)? (`causal` $causal^)? (`window` `=` $window^)? (`past` `=` $past^)?
    (`zero_invalid` $zero_invalid^)? `dims` `=` $query_dims `x` $key_dims `x` $value_dims `->` $result_dims
    attr-dict `:` type($query) `,` type($key) `,` type($value) `->` type($result) (`,` type($log_sum_exp)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What the entries of the lists of dimensions stand for.
    enum Role { Batch, Heads, Length, Depth };
    /// The sizes of a list's dimensions: batch, heads, length, depth.
    static ::llvm::SmallVector<::vx::DimAttr> getSizes(::mlir::Value tensor, ::llvm::ArrayRef<int64_t> dims);
    ::llvm::SmallVector<::vx::DimAttr> getQuerySizes() { return getSizes(getQuery(), getQueryDims()); }
    ::llvm::SmallVector<::vx::DimAttr> getKeySizes() { return getSizes(getKey(), getKeyDims()); }
    ::llvm::SmallVector<::vx::DimAttr> getValueSizes() { return getSizes(getValue(), getValueDims()); }
    ::llvm::SmallVector<::vx::DimAttr> getResultSizes() { return getSizes(getResult(), getResultDims()); }
    /// `past`, or 0.
    ::vx::DimAttr getPastOrZero();
    /// The result's type as the operands tell it.
    ::mlir::RankedTensorType inferResultType();
    /// The type of `log_sum_exp`.
    ::mlir::RankedTensorType inferLogSumExpType();
  }];
}

def VX_PagedAttentionOp : VX_InferredOp<"paged_attention", [Pure, AllTypesMatch<["keys", "values"]>, VX_Anchor, VX_ScattersResult, VX_NonDifferentiable,
                                                            VX_CountsFlops, VX_Constrained]> {
  let summary = "causal attention of tokens over keys and values that lie in pages";
  let description = [{
    `keys` and `values` are [pages, key heads, places, depth]. A sequence has pages that `table` [sequences, most pages] names in their order:
    its position t lies in the page `table[s, t / places]`, at the place t % places. The tokens of sequence s are starts[s] to starts[s + 1] - 1, and
    they are the last ones of its `lengths[s]` positions. So token i has the position

        p = lengths[s] - starts[s + 1] + i

    and sees the positions from 0, or with `window` from p - window + 1, to p. With g = h / (heads / key heads):

        x[t] = scale * sum over d of query[i, h, d] * keys[page, g, place, d]
        x[t] = softcap * tanh(x[t] / softcap)                                  with `softcap`
        result[i, h, d] = sum over t of e^(x[t] - m) / z * values[page, g, place, d],  m = max over t of x[t],  z = sum over t of e^(x[t] - m)

    A row that holds NaN or +inf, or only -inf, is NaN. The result of a token that sees nothing is 0. A position beyond the sequence's pages is
    not seen, nor are those of a page with a number outside of `keys`. A token that is of no sequence sees nothing.

    - C1: `query` is [tokens, heads, depth]; `keys` and `values` are [pages, key heads, places, depth], of which only the number of pages may be
          unknown; heads are known, too, and key heads divide them. Sizes other than those of tokens and pages are above 0, the depth is at most
          4,096, and there are at most 1,024 places: a worker has them in fast memory.
    - C2: `table` is [sequences, most pages], `lengths` is [sequences], and `starts` is [sequences + 1].
    - C3: `scale` is finite, `softcap` finite and above 0, `window` at least 1.

    Numerics: all is computed and accumulated in f32 and rounded once. A page adds to the sums of those before it, so the order of a sum does not
    depend on threads or on other sequences.

    Example:

        %r = vx.paged_attention %q, %k, %v table(%t) starts(%s) lengths(%l) scale = 1.250000e-01 window = 512
            : tensor<5x8x64xf32>, tensor<9x2x32x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  }];
  let arguments = (ins RankedTensorOf<[F32, F16, BF16]>:$query, RankedTensorOf<[F32, F16, BF16]>:$keys, RankedTensorOf<[F32, F16, BF16]>:$values,
                       RankedTensorOf<[I64]>:$table, RankedTensorOf<[I64]>:$starts, RankedTensorOf<[I64]>:$lengths, F64Attr:$scale,
                       OptionalAttr<F64Attr>:$softcap, OptionalAttr<I64Attr>:$window);
  let results = (outs RankedTensorOf<[F32, F16, BF16]>:$result);
  let assemblyFormat = [{
    $query `,` $keys `,` $values `table` `(` $table `)` `starts` `(` $starts `)` `lengths` `(` $lengths `)` `scale` `=` $scale
    (`softcap` `=` $softcap^)? (`window` `=` $window^)? attr-dict
    `:` type($query) `,` type($keys) `,` type($table) `,` type($starts) `,` type($lengths)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ static constexpr int64_t mostDepth = 4096, mostPlaces = 1024; }];
}

#endif
