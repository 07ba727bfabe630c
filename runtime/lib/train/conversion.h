// Elements of data in the type that an input wants.
#ifndef VX_TRAIN_CONVERSION_H
#define VX_TRAIN_CONVERSION_H

#include "vx/runtime/vx.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace vx::train {

bool isInteger(vx_element_type type);
// An element of an integer type, which this holds the values of all of.
__int128 integerAt(vx_element_type type, const std::byte *place);

// Whether elements of one type are taken for another one: integers for integers, which must hold each value; f32 for
// f64, exactly; f64 for f32, rounded to the nearest. All others are not: nobody but the user knows the scale of
// integers that stand for floats.
bool converts(vx_element_type from, vx_element_type to);
// Whether a type that converts may have elements that the other one does not hold.
bool mayLose(vx_element_type from, vx_element_type to);

// Writes `count` elements of `from` as elements of `to`, which it converts to. Returns the number of the first that
// `to` does not hold, an integer outside of its range or a finite number beyond the largest of f32; `count`: it holds
// all.
uint64_t convert(vx_element_type from, const std::byte *source, vx_element_type to, std::byte *target, uint64_t count);

// For messages: an element, and the range of a type.
std::string elementText(vx_element_type type, const std::byte *place);
std::string rangeText(vx_element_type type);

} // namespace vx::train

#endif
