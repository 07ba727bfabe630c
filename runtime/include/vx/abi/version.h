/* Version numbers of the two stable interfaces: the module file and vx.h.
 *
 * A file with another major number is refused. A file with a larger minor number is refused too, since it may use
 * instructions that this runtime does not know; a smaller minor number is accepted.
 */
#ifndef VX_ABI_VERSION_H
#define VX_ABI_VERSION_H

#define VX_MODULE_ABI_MAJOR 3
#define VX_MODULE_ABI_MINOR 4

#define VX_VERSION_STRING "0.2.0"

#endif
