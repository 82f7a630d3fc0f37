//! The Gregorian calendar.

/// Year, month and day of a number of days after 1970-01-01, by counting 400-year eras that begin in March, so that leap
/// days come last.
pub fn of_days(days: i64) -> (i64, u8, u8) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (
        day - (153 * month + 2) / 5 + 1,
        if month < 10 { month + 3 } else { month - 9 },
    );
    (
        year + era * 400 + i64::from(month <= 2),
        month as u8,
        day as u8,
    )
}

#[cfg(test)]
mod tests {
    use super::of_days;

    #[test]
    fn days_since_1970_are_correct() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (20_778, (2026, 11, 21)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(of_days(days), date, "{days}");
        }
    }
}
