//! The vector instructions that kernels are run with.

use std::sync::OnceLock;

use pulp::Arch;

/// Environment variable with the widest vectors to use: `none`, `256` (bits), or whatever the processor has.
pub const VECTORS: &str = "CONSILIENCE_VECTORS";

/// The widest vector instructions of this processor, unless [`VECTORS`] limits them. The variable is read once.
#[inline]
pub fn instructions() -> Arch {
    static CHOSEN: OnceLock<Arch> = OnceLock::new();
    *CHOSEN.get_or_init(|| limited(std::env::var(VECTORS).ok().as_deref()))
}

/// The same with vectors of at most four numbers.
pub fn four_lanes() -> Arch {
    at_most_four(instructions())
}

fn limited(widest: Option<&str>) -> Arch {
    match widest {
        Some("none") => Arch::Scalar,
        Some("256") => at_most_four(Arch::new()),
        _ => Arch::new(),
    }
}

fn at_most_four(arch: Arch) -> Arch {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_limits_the_width() {
        assert!(matches!(limited(Some("none")), Arch::Scalar));
        assert_eq!(format!("{:?}", limited(None)), format!("{:?}", Arch::new()));
        assert!(!format!("{:?}", limited(Some("256"))).contains("V4"));
    }
}
