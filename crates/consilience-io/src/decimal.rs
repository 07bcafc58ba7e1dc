//! Fast reading of plain decimal numbers such as `0.39561756245421104`.
//!
//! It is faster than a parser for all forms of numbers.
//!
//! w is an integer below 2⁶⁴, and w·10⁻ᵠ is the quotient of w and 10ᵠ. If both are exact doubles, the division is
//! correctly rounded. Otherwise w is multiplied by the 64 leading bits of 5⁻ᵠ. The product is too small by less than one unit of its upper 64 bits, which
//! decide the rounding unless their lowest nine bits are all set. Such numbers, one in 500, and all of another form are
//! left to the general parser.
//!
//! # References
//! Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 51 (2021), section 5.
//! <https://doi.org/10.1002/spe.2984>

/// Most digits: every integer with this many digits is below 2⁶⁴.
const MOST_DIGITS: usize = 19;

/// Up to this, integers are exact doubles.
const LARGEST_EXACT: u64 = 1 << 53;

/// From this number of decimals, most integers are above [`LARGEST_EXACT`].
const MOSTLY_INEXACT: usize = 16;

/// Powers of ten that are exact doubles.
const POWERS_OF_TEN: [f64; MOST_DIGITS] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];

/// For every q ≥ 1: the 64 leading bits t of 5⁻ᵠ, rounded down, and the b of t ≈ 2ᵇ·10⁻ᵠ. None is needed for q = 0.
static RECIPROCALS: [(u64, u32); MOST_DIGITS] = reciprocals();

/// A number of digits, a point and digits, maybe after a minus sign; `None` if it is of another form or too long.
#[inline]
pub(crate) fn parse_decimal(text: &[u8]) -> Option<f64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() > MOST_DIGITS + 1 {
        return None;
    }
    let (w, decimals) = match digits {
        [first @ b'0'..=b'9', b'.', decimals @ ..] => (u64::from(first - b'0'), decimals),
        _ => whole_part(digits)?,
    };
    let number = scaled(with_digits(w, decimals)?, decimals.len())?;
    Some(if negative { -number } else { number })
}

/// The number before the point, and the digits behind it.
fn whole_part(digits: &[u8]) -> Option<(u64, &[u8])> {
    let point = digits.iter().position(|byte| *byte == b'.').filter(|point| *point > 0)?;
    let whole = digits[..point].iter().try_fold(0, |w, byte| Some(10 * w + digit(*byte)?));
    Some((whole?, &digits[point + 1..]))
}

fn digit(byte: u8) -> Option<u64> {
    byte.is_ascii_digit().then(|| u64::from(byte - b'0'))
}

/// w with these digits behind it, of which there is at least one.
#[inline]
fn with_digits(w: u64, digits: &[u8]) -> Option<u64> {
    /// Eight times `0`.
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    let Some(last) = digits.last_chunk().map(|last| u64::from_le_bytes(*last)) else {
        let all = digits.iter().try_fold(w, |w, byte| Some(10 * w + digit(*byte)?));
        return all.filter(|_| !digits.is_empty());
    };
    let (groups, rest) = digits.as_chunks::<8>();
    let (mut w, mut are_digits) = (w, true);
    for group in groups {
        let group = u64::from_le_bytes(*group);
        are_digits &= is_digits(group);
        w = w.wrapping_mul(100_000_000).wrapping_add(eight_digits(group));
    }
    // The digits of the last eight that are in no group, with zeros in place of the others.
    let bits = 8 * rest.len();
    let group = (last & (u64::MAX << 8 << (56 - bits))) | (ZEROS >> bits);
    w = w.wrapping_mul(POWERS[rest.len()]).wrapping_add(eight_digits(group));
    (are_digits && is_digits(group)).then_some(w)
}

/// Whether all bytes are digits.
#[inline]
fn is_digits(word: u64) -> bool {
    let upper = |word: u64| word & 0xf0f0_f0f0_f0f0_f0f0;
    upper(word) | (upper(word.wrapping_add(0x0606_0606_0606_0606)) >> 4) == 0x3333_3333_3333_3333
}

/// The number that eight digits are, the first one in the lowest byte.
#[inline]
fn eight_digits(word: u64) -> u64 {
    // Neighbours are joined: digits, then pairs, then groups of four.
    let pairs = (word & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(10 * 256 + 1) >> 8;
    let fours = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul(100 * 65_536 + 1) >> 16;
    (fours & 0x0000_ffff_0000_ffff).wrapping_mul(10_000 * 4_294_967_296 + 1) >> 32
}

/// w·10⁻ᵠ, correctly rounded, for w < 10¹⁹ and q ≥ 1.
fn scaled(w: u64, q: usize) -> Option<f64> {
    let is_exact = w <= LARGEST_EXACT;
    // The number of decimals comes first: it is much the same for all numbers of a table, so that processors predict the
    // branch.
    if (q < MOSTLY_INEXACT && is_exact) || w == 0 {
        return Some(w as f64 / POWERS_OF_TEN[q]);
    }
    let (reciprocal, bits) = RECIPROCALS[q];
    let shift = w.leading_zeros();
    let product = u128::from(w << shift) * u128::from(reciprocal);
    let upper = (product >> 64) as u64;
    if upper & 0x1ff == 0x1ff {
        return is_exact.then(|| w as f64 / POWERS_OF_TEN[q]);
    }
    // What is cut off is not 0, and the lowest bit stands for it, so that the conversion rounds correctly. A double, or a
    // number halfway between two, has at least nine zeros in the exact product, and ones in this one.
    let rounded = ((upper >> 1) | 1).cast_signed() as f64;
    Some(rounded * f64::from_bits(u64::from(1023 + 65 - shift - bits) << 52))
}

const fn reciprocals() -> [(u64, u32); MOST_DIGITS] {
    let mut table = [(0, 0); MOST_DIGITS];
    let (mut q, mut power) = (1, 1u64);
    while q < MOST_DIGITS {
        power *= 5;
        let bits = 63 + u64::BITS - power.leading_zeros();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the quotient has 64 bits, q is below 19"
        )]
        let entry = (((1u128 << bits) / power as u128) as u64, bits + q as u32);
        table[q] = entry;
        q += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_correct(text: &str) -> Option<f64> {
        let found = parse_decimal(text.as_bytes());
        if let Some(found) = found {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
        }
        found
    }

    #[test]
    fn usual_numbers_are_read_and_others_are_left() {
        let usual = ["0.25", "-0.0", "1.0", "12.5", "0.1234567", "0.39561756245421104"];
        let long = [
            "0.0000000000000000",
            "-0.000000000000000000",
            "0.0000000000000001",
            "0.2500000000000000",
        ];
        for text in usual.iter().chain(&long) {
            assert!(assert_correct(text).is_some(), "{text}");
        }
        let others = [
            "", "-", ".", "0", ".5", "5.", "+0.5", " 0.5", "0.5 ", "1e-3", "0.5e1", "0.1.2", "nan",
            "0,5",
        ];
        for text in others.iter().chain(&[
            "0.1234567x",
            "0.123456789:",
            "0.1234567/9",
            "00.123456789012345678",
        ]) {
            assert_eq!(parse_decimal(text.as_bytes()), None, "{text}");
        }
    }

    /// The first 19 decimals of the point halfway between a double from 0.001 to 1 and the next one.
    fn decimals_of_tie(low: f64) -> String {
        let (exponent, fraction) = (low.to_bits() >> 52, low.to_bits() & ((1 << 52) - 1));
        let twice = u128::from(2 * ((1 << 52) + fraction) + 1);
        format!("0.{:019}", (twice * 10u128.pow(19)) >> (1076 - exponent))
    }

    /// Whole numbers at and beside ties; and the decimals of ties and of doubles, cut off after 15 to 18 of them.
    #[test]
    fn numbers_beside_a_tie_are_rounded_correctly() {
        for (i, decimals) in (0..4_000u64).zip(["0", "00", "5", "25"].iter().cycle()) {
            assert_correct(&format!("{}.{decimals}", (1 << 53) + i));
        }
        let mut n_read = 0;
        for i in 0..20_000u64 {
            let low = f64::from_bits((0.001f64 + i as f64 / 20_100.0).to_bits() + i % 7);
            let tie = decimals_of_tie(low);
            let exact = format!("{low:.60}");
            for text in [&tie, &exact] {
                n_read += (17..=20).filter(|end| assert_correct(&text[..*end]).is_some()).count();
            }
        }
        assert!(n_read > 100_000, "{n_read}");
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_standard_library(
            text in "-?[0-9]{1,3}\\.[0-9]{1,18}",
            number in 0.0f64..1.0,
        ) {
            assert_correct(&text);
            assert_correct(&number.to_string());
        }
    }
}
