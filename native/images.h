// Work on images and on windows of arrays, for penstock/core/native_images.py.
//
// Arrays are dense, images [batch, height, width, depth]. Kinds of elements: 0 float, 1 double,
// 2 int32, 3 int64, 4 uint8, 5 int8, 6 uint16, 7 int16, 8 uint32, 9 uint64. `sizes` are numbers that
// the caller has checked: what a function is told of fits its arrays. Functions that look at the
// arrays' numbers return -1, or 0 or more where one is wrong: the caller does the work in Python then,
// which says what is wrong. All return -3 where memory runs out.
#pragma once

#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

// What the functions below mean; native_images.py states the same number.
EXPORT int penstock_images_version();

// Boxes (four floats each: y1, x1, y2, x2) of the images of these numbers, resized to one size, with
// `outside` where they leave the image. sizes: batch, height, width, depth, and a crop's height and
// width. Returns the first box that is not finite or whose image is not there.
EXPORT int64_t penstock_images_crop(int64_t kind, const void *images, const int64_t *sizes,
                                    const float *boxes, const int32_t *numbers, int64_t count,
                                    int64_t nearest, const float *outside, int64_t threads,
                                    float *out);

// What flows back from crops to the images, added to `out`.
EXPORT int64_t penstock_images_crop_to_images(const float *grads, const int64_t *sizes,
                                              const float *boxes, const int32_t *numbers,
                                              int64_t count, int64_t nearest, int64_t threads,
                                              float *out);

// What flows back from crops to the boxes.
EXPORT int64_t penstock_images_crop_to_boxes(int64_t kind, const float *grads, const void *images,
                                             const int64_t *sizes, const float *boxes,
                                             const int32_t *numbers, int64_t count, int64_t threads,
                                             float *out);

// Pixels of three floats or doubles: hue, saturation and value of RGB ones (0), the way back (1), RGB
// ones with the hue turned by `amount` (2) or the saturation multiplied by it (3).
EXPORT int64_t penstock_images_colors(int64_t operation, int64_t kind, const void *pixels,
                                      int64_t count, const float *amount, int64_t threads, void *out);

// Images of `places` pixels with the distance from the mean of each channel multiplied.
EXPORT int64_t penstock_images_contrast(const float *images, int64_t number, int64_t places,
                                        int64_t depth, const float *factor, int64_t threads,
                                        float *out);

// Dilations. sizes: batch, height, width, depth, the filter's height and width, strides, rates, the
// padding above and to the left, and how many windows there are (rows, columns). Places outside of the
// image and the lowest number do not count.
EXPORT int64_t penstock_images_dilate(int64_t kind, const void *images, const void *filter,
                                      const int64_t *sizes, int64_t threads, void *out);

// What flows back through a dilation to the images (0) or the filter (1), added to `out`: to the first
// place that is the largest; where there is none, to the first one in the image, of the filter.
EXPORT int64_t penstock_images_dilate_back(int64_t kind, int64_t to, const void *images,
                                           const void *filter, const void *grads,
                                           const int64_t *sizes, int64_t threads, void *out);

// Cells of images reduced: their largest element (NaN wins) or their mean, rounded down for integers.
// sizes: batch, height, width, depth, rows and columns of cells, which begin where `rows` and `columns`
// say and end where the next one begins, one place later where they overlap; else this returns 0.
// Kinds 0 to 3.
EXPORT int64_t penstock_images_pool(int64_t kind, int64_t mean, const void *images,
                                    const int64_t *sizes, const int64_t *rows, const int64_t *columns,
                                    int64_t overlapping, int64_t threads, void *out);

// What flows back from the largest elements to the first place of each cell that holds it, added to
// `out`. Returns a cell whose largest element is not that of `pooled`.
EXPORT int64_t penstock_images_pool_back(int64_t kind, const void *images, const void *pooled,
                                         const void *grads, const int64_t *sizes, const int64_t *rows,
                                         const int64_t *columns, int64_t overlapping, int64_t threads,
                                         void *out);

// Windows that slide over an array of five sizes, the batch first, and a depth that they do not slide
// over. sizes: five each of the array's, how many windows, places in a window, strides and the padding
// before; the depth; the elements that indices count through. Work: the largest of each window (0);
// what flows back from it, added to `out` (1); the element of `grads` at its first place (2); that
// place's index, int64 (3), the last three by `largest`, and nothing or 0 where no place holds it; the
// mean (4), without what is outside; what flows back from such means, which are `x`, added to `out` (5).
// The last two for kinds 0 and 1 alone, else -2.
EXPORT int64_t penstock_images_slide(int64_t work, int64_t kind, const void *x, const void *largest,
                                     const void *grads, const int64_t *sizes, int64_t threads,
                                     void *out);

// A convolution of an image x [batch, size, depth] with a filter y [window, depth / groups, outs] (0); what
// flows back, for a filter x and gradients y [batch, count, outs], to the image (1), and for an image x and
// gradients y to the filter (2). sizes: batch, groups, depth, outs, and three each of: the image's sizes,
// how many windows, places in a window, strides, rates within a window, zeros before the image. There are
// as many zeros behind it as windows see. No size is 0. Kinds 0 to 2; else -2. One thread.
EXPORT int64_t penstock_images_convolve(int64_t work, int64_t kind, const void *x, const void *y,
                                        const int64_t *sizes, void *out);

// Adds each of images * windows numbers to the element of `size` that `places` name, `step` further for
// each image; those below 0 count from the end, those outside are left out.
EXPORT int64_t penstock_images_to_places(int64_t kind, const void *grads, const int64_t *places,
                                         int64_t images, int64_t windows, int64_t step, int64_t size,
                                         void *out);

// What flows back from means, evenly over each cell.
EXPORT int64_t penstock_images_spread(int64_t kind, const void *grads, const int64_t *sizes,
                                      const int64_t *rows, const int64_t *columns,
                                      int64_t overlapping, int64_t threads, void *out);

// What windows see of volumes [batch, three sizes] of pixels of some bytes, one after the other; zeros
// outside. sizes: batch, bytes of a pixel, and three each of: the volume's sizes, the window's,
// strides, rates, padding before, windows.
EXPORT int64_t penstock_images_patches(const void *volumes, const int64_t *sizes, int64_t threads,
                                       void *out);

// Edges of boxes drawn into images whose pixels have `bytes`, in colors taken in turn. sizes: batch,
// height, width, bytes, boxes of each image, colors.
EXPORT int64_t penstock_images_draw(void *images, const float *boxes, const void *colors,
                                    const int64_t *sizes);

// Images whose rows and columns are sums of old ones: for each new one the first old one and how many
// follow, in `places`, and their weights. sizes: batch, height, width, depth, new rows and columns,
// weights of each new row, of each new column, whether rows are summed first. Kinds 0 and 1, of which
// weights are too; else -2. Returns 0 where places are not there.
EXPORT int64_t penstock_images_resample(int64_t kind, const void *images, const int64_t *sizes,
                                        const int64_t *row_places, const void *row_weights,
                                        const int64_t *column_places, const void *column_weights,
                                        int64_t threads, void *out);

// Images seen through projective transforms of eight numbers, one for all or each: each pixel is that
// of the image at the place that its own has by the transform; `fill` where that is outside. sizes:
// batch, height, width, depth, rows and columns of the result, transforms. `smooth` mixes four pixels.
// Modes: places stay outside (0), are reflected (1), repeat (2), or become the nearest ones (3). Kinds
// 0, 1 and 4, of which `fill` is too; else -2.
EXPORT int64_t penstock_images_transform(int64_t kind, const void *images, const int64_t *sizes,
                                         const float *matrices, int64_t smooth, int64_t mode,
                                         const void *fill, int64_t threads, void *out);

// Pixels of 3 or 4 bytes in rows of `line` bytes, with the first and third exchanged, dense and from
// the last row on where `turned`.
EXPORT int64_t penstock_images_swap(const uint8_t *rows, int64_t height, int64_t width, int64_t bytes,
                                    int64_t line, int64_t turned, uint8_t *out);

// Rows of a PNG file, each `line` bytes of pixels of `step` bytes behind the number of its filter, as
// they were before it. Returns the first row whose filter there is not.
EXPORT int64_t penstock_images_unfilter(const uint8_t *rows, int64_t height, int64_t line, int64_t step,
                                        uint8_t *out);

// Samples in [-1, 1] as integers of 16 bits: 32768 times as many, in their range; 0 for NaN.
EXPORT int64_t penstock_images_sound(const float *samples, int64_t count, int16_t *out);
