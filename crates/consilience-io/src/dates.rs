//! Dates and times as ISO 8601 text, in UTC.

use arrow_schema::TimeUnit;

use crate::text::push_display;

const SECONDS_PER_DAY: i64 = 86_400;

/// Appends a date given in days since 1970-01-01.
pub(crate) fn push_date(out: &mut Vec<u8>, days: i64) {
    let (year, month, day) = civil(days);
    push_display(out, format_args!("{year:04}-{month:02}-{day:02}"));
}

/// Appends a time given since 1970-01-01T00:00:00, with `Z` if it is tied to a time zone.
pub(crate) fn push_time(out: &mut Vec<u8>, value: i64, unit: TimeUnit, zoned: bool) {
    let (per_day, _) = ticks_of(unit);
    let per_day = per_day * SECONDS_PER_DAY;
    push_date(out, value.div_euclid(per_day));
    out.push(b'T');
    push_time_of_day(out, value.rem_euclid(per_day), unit);
    if zoned {
        out.push(b'Z');
    }
}

/// Appends a time since midnight.
pub(crate) fn push_time_of_day(out: &mut Vec<u8>, value: i64, unit: TimeUnit) {
    let (ticks, digits) = ticks_of(unit);
    let (second, fraction) = (value.div_euclid(ticks), value.rem_euclid(ticks));
    let (hour, minute, second) =
        (second.div_euclid(3600), second.div_euclid(60).rem_euclid(60), second.rem_euclid(60));
    push_display(out, format_args!("{hour:02}:{minute:02}:{second:02}"));
    push_fraction(out, fraction.unsigned_abs(), digits);
}

/// Appends a duration in seconds, such as `PT90.5S`.
pub(crate) fn push_duration(out: &mut Vec<u8>, value: i64, unit: TimeUnit) {
    let (ticks, digits) = ticks_of(unit);
    let sign = if value < 0 { "-" } else { "" };
    let (value, ticks) = (value.unsigned_abs(), ticks.unsigned_abs());
    push_display(out, format_args!("{sign}PT{}", value / ticks));
    push_fraction(out, value % ticks, digits);
    out.push(b'S');
}

/// Ticks per second, and the number of digits of a fraction of a second.
fn ticks_of(unit: TimeUnit) -> (i64, usize) {
    match unit {
        TimeUnit::Second => (1, 0),
        TimeUnit::Millisecond => (1_000, 3),
        TimeUnit::Microsecond => (1_000_000, 6),
        TimeUnit::Nanosecond => (1_000_000_000, 9),
    }
}

fn push_fraction(out: &mut Vec<u8>, fraction: u64, digits: usize) {
    if fraction > 0 {
        push_display(out, format_args!(".{fraction:0digits$}"));
    }
}

/// Year, month and day in the Gregorian calendar. Years begin in March, so that the leap day is
/// the last day of a year, and are counted in eras of 400 years, which all have the same length.
fn civil(days: i64) -> (i64, i64, i64) {
    let since = days + 719_468; // since 0000-03-01
    let (era, day_of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    /// Days from Python's `(date(...) - date(1970, 1, 1)).days`.
    #[test]
    fn dates_follow_the_calendar() {
        for (days, date) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (20_773, "2026-11-16"),
            (-25_509, "1900-02-28"),
            (-25_508, "1900-03-01"),
            (-719_162, "0001-01-01"),
            (2_932_896, "9999-12-31"),
        ] {
            assert_eq!(text(|out| push_date(out, days)), date);
        }
    }

    #[test]
    fn times_have_a_fraction_only_if_it_is_not_zero() {
        let time = |value, unit, zoned| text(|out| push_time(out, value, unit, zoned));
        assert_eq!(time(0, TimeUnit::Second, false), "1970-01-01T00:00:00");
        assert_eq!(time(-1, TimeUnit::Millisecond, false), "1969-12-31T23:59:59.999");
        assert_eq!(
            time(86_399_000_050, TimeUnit::Microsecond, true),
            "1970-01-01T23:59:59.000050Z"
        );
        assert_eq!(time(i64::MIN, TimeUnit::Nanosecond, false), "1677-09-21T00:12:43.145224192");
        let clock = |value, unit| text(|out| push_time_of_day(out, value, unit));
        assert_eq!(clock(86_399, TimeUnit::Second), "23:59:59");
        assert_eq!(clock(1_500, TimeUnit::Millisecond), "00:00:01.500");
        let duration = |value, unit| text(|out| push_duration(out, value, unit));
        assert_eq!(duration(-90_500, TimeUnit::Millisecond), "-PT90.500S");
        assert_eq!(duration(i64::MIN, TimeUnit::Second), "-PT9223372036854775808S");
    }
}
