"""Public names of random numbers."""

EXPORTS = {
    "penstock.ops.random_generator": {
        "Generator": ["random.Generator", "random.experimental.Generator"],
        "create_rng_state": ["random.create_rng_state", "random.experimental.create_rng_state"],
        "get_global_generator": [
            "random.get_global_generator",
            "random.experimental.get_global_generator",
        ],
        "set_global_generator": [
            "random.set_global_generator",
            "random.experimental.set_global_generator",
        ],
    },
    "penstock.ops.random_index": {"index_shuffle": ["random.experimental.index_shuffle"]},
    "penstock.ops.random_families": {
        "random_gamma": ["random.gamma", "compat.v1.random_gamma"],
        "random_poisson": ["random.poisson"],
        "random_poisson_v1": ["compat.v1.random.poisson", "compat.v1.random_poisson"],
        "stateless_binomial": ["random.stateless_binomial"],
        "stateless_gamma": ["random.stateless_gamma"],
        "stateless_poisson": ["random.stateless_poisson"],
    },
    "penstock.ops.random_bounded": {
        "stateless_parameterized_truncated_normal": [
            "random.stateless_parameterized_truncated_normal"
        ],
    },
    "penstock.ops.random_state": {
        "set_seed": [
            "random.set_seed",
            "compat.v1.random.set_random_seed",
            "compat.v1.set_random_seed",
        ],
        "get_seed": ["compat.v1.random.get_seed", "compat.v1.get_seed"],
    },
    "penstock.ops.random_ops": {
        "random_uniform": ["random.uniform", "compat.v1.random_uniform"],
        "random_normal": ["random.normal", "compat.v1.random_normal"],
        "truncated_normal": ["random.truncated_normal", "compat.v1.truncated_normal"],
        "random_shuffle": ["random.shuffle", "compat.v1.random_shuffle"],
        "categorical": ["random.categorical"],
        "multinomial": ["compat.v1.random.multinomial", "compat.v1.multinomial"],
        "random_crop": ["image.random_crop", "compat.v1.random_crop"],
    },
    "penstock.ops.random_stateless_ops": {
        "Algorithm": ["random.Algorithm", "random.experimental.Algorithm"],
        "stateless_random_uniform": ["random.stateless_uniform"],
        "stateless_random_normal": ["random.stateless_normal"],
        "stateless_truncated_normal": ["random.stateless_truncated_normal"],
        "stateless_categorical": ["random.stateless_categorical"],
        "stateless_multinomial": ["compat.v1.random.stateless_multinomial"],
        "stateless_shuffle": ["random.experimental.stateless_shuffle"],
        "split": ["random.split", "random.experimental.stateless_split"],
        "fold_in": ["random.fold_in", "random.experimental.stateless_fold_in"],
    },
}
