"""The fused layer of torch.nn.TransformerEncoderLayer, which evaluation without gradients takes, as operations that torch.onnx has."""


def _encoder_layer(src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1,
                   ffn_bias_1, ffn_weight_2, ffn_bias_2, mask=None, mask_type=None):
    import torch
    functional = torch.nn.functional

    def attend(x):
        rows, length, _ = x.shape
        parts = (part.reshape(rows, length, num_heads, embed_dim // num_heads).transpose(1, 2) for part in functional.linear(x, qkv_weight, qkv_bias).chunk(3, -1))
        seen = None
        if mask is not None: # of positions, of a row's positions, or of both for each head; true, or -inf, hides a position
            seen = mask[:, None, None, :] if mask_type == 1 else mask
            if seen.dtype == torch.bool:
                seen = torch.zeros_like(seen, dtype=x.dtype).masked_fill(seen, float("-inf"))
        result = functional.scaled_dot_product_attention(*parts, attn_mask=seen)
        return functional.linear(result.transpose(1, 2).reshape(rows, length, embed_dim), proj_weight, proj_bias)

    def feed(x):
        hidden = functional.linear(x, ffn_weight_1, ffn_bias_1)
        return functional.linear(functional.gelu(hidden) if use_gelu else functional.relu(hidden), ffn_weight_2, ffn_bias_2)

    def first(x):
        return functional.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x):
        return functional.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        src = src + attend(first(src))
        return src + feed(second(src))
    src = first(src + attend(src))
    return second(src + feed(src))


def decompositions(torch):
    """The table for torch.export's run_decompositions; it changes nothing else."""
    return {torch.ops.aten._transformer_encoder_layer_fwd.default: _encoder_layer}
