"""Public names of images."""

EXPORTS = {
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
}
