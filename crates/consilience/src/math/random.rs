//! Random numbers that do not depend on the number of threads.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// The generator of one chain, block or replicate: stream `number` of the seed.
pub(crate) fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}
