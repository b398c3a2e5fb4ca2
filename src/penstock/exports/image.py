"""Public names of images."""

EXPORTS = {
    "penstock.ops.image_color": {
        name: [f"image.{name}"]
        for name in (
            "adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation"
            " convert_image_dtype hsv_to_rgb per_image_standardization rgb_to_hsv"
        ).split()
    },
    "penstock.ops.image_spaces": {
        name: [f"image.{name}"]
        for name in (
            "grayscale_to_rgb rgb_to_grayscale rgb_to_yiq rgb_to_yuv yiq_to_rgb yuv_to_rgb"
        ).split()
    },
    "penstock.ops.image_geometry": {
        "flip_left_right": ["image.flip_left_right"],
        "flip_up_down": ["image.flip_up_down"],
        "rot90": ["image.rot90"],
        "transpose_image": ["image.transpose", "compat.v1.image.transpose_image"],
    },
    "penstock.ops.image_patches": {
        "extract_image_patches_v1": [
            "compat.v1.image.extract_image_patches",
            "compat.v1.extract_image_patches",
        ],
        "extract_patches": ["image.extract_patches"],
        "image_gradients": ["image.image_gradients"],
        "sobel_edges": ["image.sobel_edges"],
        "total_variation": ["image.total_variation"],
    },
    "penstock.ops.image_resizing": {
        "ResizeMethod": ["image.ResizeMethod"],
        "ResizeMethodV1": ["compat.v1.image.ResizeMethod"],
        "resize": ["image.resize"],
        "resize_v1": ["compat.v1.image.resize", "compat.v1.image.resize_images"],
        "resize_area": ["compat.v1.image.resize_area"],
        "resize_bicubic": ["compat.v1.image.resize_bicubic"],
        "resize_bilinear": ["compat.v1.image.resize_bilinear"],
        "resize_nearest_neighbor": ["compat.v1.image.resize_nearest_neighbor"],
    },
    "penstock.ops.image_windows": {
        "central_crop": ["image.central_crop"],
        "crop_to_bounding_box": ["image.crop_to_bounding_box"],
        "pad_to_bounding_box": ["image.pad_to_bounding_box"],
        "resize_with_crop_or_pad": [
            "image.resize_with_crop_or_pad",
            "compat.v1.image.resize_image_with_crop_or_pad",
        ],
        "resize_with_pad": ["image.resize_with_pad"],
        "resize_with_pad_v1": ["compat.v1.image.resize_image_with_pad"],
    },
}

EXPORTS["penstock.ops.image_decode"] = {
    "decode_and_crop_jpeg": ["image.decode_and_crop_jpeg", "io.decode_and_crop_jpeg"],
    "decode_bmp": ["image.decode_bmp", "io.decode_bmp"],
    "decode_gif": ["image.decode_gif", "io.decode_gif"],
    "decode_image": ["image.decode_image", "io.decode_image"],
    "decode_jpeg": ["image.decode_jpeg", "io.decode_jpeg"],
    "decode_png": ["image.decode_png", "io.decode_png"],
    "decode_webp": ["image.decode_webp", "io.decode_webp"],
    "extract_jpeg_shape": ["image.extract_jpeg_shape", "io.extract_jpeg_shape"],
    "is_jpeg": ["image.is_jpeg", "io.is_jpeg"],
}
EXPORTS["penstock.ops.image_decode_jxl"] = {
    "decode_jxl": ["image.decode_jxl", "io.decode_jxl"],
}
EXPORTS["penstock.ops.image_encode"] = {
    "encode_jpeg": ["image.encode_jpeg", "io.encode_jpeg"],
}
EXPORTS["penstock.ops.image_crops"] = {
    "crop_and_resize": ["image.crop_and_resize"],
    "crop_and_resize_v1": ["compat.v1.image.crop_and_resize"],
}
EXPORTS["penstock.ops.image_suppression"] = {
    name: [f"image.{name}"]
    for name in (
        "non_max_suppression non_max_suppression_overlaps non_max_suppression_with_scores"
    ).split()
}
EXPORTS["penstock.ops.image_suppression_batches"] = {
    name: [f"image.{name}"]
    for name in "combined_non_max_suppression non_max_suppression_padded".split()
}
EXPORTS["penstock.ops.image_random"] = {
    name: [f"image.{name}"]
    for name in (
        "adjust_jpeg_quality random_brightness random_contrast random_flip_left_right"
        " random_flip_up_down random_hue random_jpeg_quality random_saturation"
        " stateless_random_brightness stateless_random_contrast stateless_random_crop"
        " stateless_random_flip_left_right stateless_random_flip_up_down stateless_random_hue"
        " stateless_random_jpeg_quality stateless_random_saturation"
    ).split()
}
EXPORTS["penstock.ops.image_boxes"] = {
    "draw_bounding_boxes": ["image.draw_bounding_boxes"],
    "draw_bounding_boxes_v1": ["compat.v1.image.draw_bounding_boxes"],
}
EXPORTS["penstock.ops.image_similarity"] = {
    "psnr": ["image.psnr"],
    "ssim": ["image.ssim"],
    "ssim_multiscale": ["image.ssim_multiscale"],
}
EXPORTS["penstock.ops.image_box_sampling"] = {
    "sample_distorted_bounding_box": ["image.sample_distorted_bounding_box"],
    "sample_distorted_bounding_box_v1": ["compat.v1.image.sample_distorted_bounding_box"],
    "stateless_sample_distorted_bounding_box": ["image.stateless_sample_distorted_bounding_box"],
}
EXPORTS["penstock.ops.image_glimpses"] = {
    "extract_glimpse": ["image.extract_glimpse"],
    "extract_glimpse_v1": ["compat.v1.image.extract_glimpse"],
}
