// Ops that only the host computes.
#ifndef VX_DIALECT_VX_IR_VXOPSHOST
#define VX_DIALECT_VX_IR_VXOPSHOST

include "vx/Dialect/VX/IR/VXBase.td"

def VX_HostFunctionKind : I32EnumAttr<"HostFunctionKind", "a function of the host", [
    I32EnumAttrCase<"string_concat", 0>, I32EnumAttrCase<"string_upper", 1>, I32EnumAttrCase<"string_lower", 2>,
    I32EnumAttrCase<"string_split", 3>, I32EnumAttrCase<"string_match", 4>, I32EnumAttrCase<"string_parse", 5>,
    I32EnumAttrCase<"string_format", 6>, I32EnumAttrCase<"image_decode", 7>]> {
  let cppNamespace = "::vx";
}

def VX_HostFunctionOp : VX_Op<"host_function", [VX_NonDifferentiable, VX_HostOp, VX_BindsResultSizes, VX_Unconstrained]> {
  let summary = "what the host computes of strings and of images";
  let description = [{
    The operands are brought to the host, and the results to the device. Before `vx-number-strings` strings are of the type `!vx.string`, behind it
    they are i32 numbers of the strings of the call. Data-dependent symbols of the results' types are bound to their sizes.

        string_concat  (s, s) -> s         one behind the other
        string_upper   s -> s              each character by the simple mapping of Unicode to upper case
        string_lower   s -> s              the same to lower case
        string_split   s -> s, i64         the parts of each string between occurrences of `text`, or, where that is empty, between
                                           runs of white space, which is no part's end or beginning; at most `limit`
                                           cuts, from the left, where it is not negative. A last dimension holds the parts and is as long as
                                           the most of them, filled with empty strings. The second result is their number
        string_match   s -> bool           whether the regular expression `text` describes the whole string
        string_parse   s -> number         the number that the string spells; another string fails the call
        string_format  number or bool -> s how it is spelled: the least digits that read back as it, "NaN", "INF", "-INF", "1" and "0" of bools
        image_decode   u8 -> u8            the image in a file of these bytes, [height, width, 3], in the order of `text`, "RGB" or "BGR", or
                                           [height, width, 1] where that is "Grayscale". [0, 0, 3] or [0, 0, 1] for bytes that are no image or
                                           a damaged one, which the log tells, as ONNX's ImageDecoder wants it

    The formats are BMP, JPEG, JPEG 2000, PNG, PNM, TIFF and WebP. Of several images in a file it is the first one. Alpha is left out, inks become
    (1 - C)(1 - K) and so on; color profiles, gamma and Exif data are not looked at, but TIFF's orientation is. An image of more than
    2^28 pixels, or of a kind that is not decoded, fails the call.

    - C1: the operands and results are as many, and of the element types, that the function has.
    - C2: they have one shape, but for the last dimension of what is split. A file has one dimension, an image three, of which the last is of the size
      that `text` says.
    - C3: `text` of `image_decode` is "RGB", "BGR" or "Grayscale".

    Numerics: samples of other than 8 bits are scaled to [0, 255], to nearest. Grayscale is 0.299 R + 0.587 G + 0.114 B of the colors that "RGB"
    has, with 16 bits behind the point, to nearest. What JPEG, JPEG 2000 and WebP lose, they may lose in another way in another version of their
    library, by one unit.
  }];
  let arguments = (ins VX_HostFunctionKind:$kind, Variadic<VX_Tensor>:$inputs, DefaultValuedAttr<StrAttr, "\"\"">:$text,
                       DefaultValuedAttr<I64Attr, "-1">:$limit);
  let results = (outs Variadic<VX_Tensor>:$results);
  let assemblyFormat = "$kind `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
}

#endif
