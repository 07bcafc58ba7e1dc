//! Damaged seeds: bytes changed, cut out, repeated or replaced by extreme lengths.
//!
//! `MUTATIONS=10000 cargo test -p consilience-fuzz --test mutations` tries so many per target; under
//! `ulimit -v`, a length that asks for too much memory aborts.

#![allow(clippy::print_stderr, reason = "shows how far a run came before it aborted")]

use std::path::Path;

/// The xorshift generator of Marsaglia.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }
}

const LENGTHS: [u64; 6] = [0, 0x7f, 0xffff_ffff, 0x7fff_ffff, 300 << 30, u64::MAX >> 1];

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let (place, length) = (random.below(bytes.len()), 1 + random.below(8));
        let end = (place + length).min(bytes.len());
        match random.below(5) {
            0 => bytes[place] ^= 1 << random.below(8),
            1 => drop(bytes.drain(place..end)),
            2 => bytes.extend_from_within(place..end),
            3 => bytes.truncate(place + 1),
            _ => {
                let length = LENGTHS[random.below(LENGTHS.len())].to_le_bytes();
                bytes[place..end].copy_from_slice(&length[..end - place]);
            }
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
}

#[test]
fn damaged_seeds_are_read_or_refused() {
    let wanted = std::env::var("MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, run) in consilience_fuzz::TARGETS {
        let files = std::fs::read_dir(corpus.join(name)).unwrap();
        let mut seeds: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        seeds.sort();
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for turn in 0..wanted {
            let mut bytes = std::fs::read(&seeds[turn % seeds.len()]).unwrap();
            damage(&mut bytes, &mut random);
            run(&bytes);
        }
        eprintln!("{name}: {wanted} damaged tables");
    }
}
