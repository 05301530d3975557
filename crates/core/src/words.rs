//! Suggestions for misspelt words in error messages.

/// The most similar one of `known`; `None` if none is similar or several are equally similar.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = |text: &str| text.chars().take(64).flat_map(char::to_lowercase).collect::<String>();
    let given = letters(given);
    let most = (given.chars().count() / 3).max(1);
    // Insertions, deletions, substitutions and swaps of neighbours.
    let distance = |k| strsim::osa_distance(&given, &letters(k));
    let mut near: Vec<(usize, &str)> =
        known.into_iter().map(|k| (distance(k), k)).filter(|(d, _)| *d <= most).collect();
    near.sort_unstable();
    near.dedup();
    match near[..] {
        [(_, one)] => Some(one),
        [(first, one), (second, _), ..] if first < second => Some(one),
        _ => None,
    }
}

/// The suggestion for a word that is not in `known`: `; did you mean ...?`, or nothing if no word is near.
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, known).map_or(String::new(), |meant| format!("; did you mean `{meant}`?"))
}

/// The same, or else a list of all that there is: `; the metrics: goodput, delay`.
pub fn did_you_mean_or<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
    all: &str,
) -> String {
    let meant = did_you_mean(given, known.clone());
    let list = || format!("; {all}: {}", known.into_iter().collect::<Vec<_>>().join(", "));
    if meant.is_empty() { list() } else { meant }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_close_or_none() {
        assert_eq!(nearest("ratee", ["rate", "delay"]), Some("rate"));
        assert_eq!(nearest("dealy", ["rate", "delay"]), Some("delay"));
        assert_eq!(nearest("colour", ["rate", "delay"]), None);
        assert_eq!(nearest("R9", ["R1", "R2"]), None);
    }

    #[test]
    fn without_a_near_name_all_are_listed() {
        assert_eq!(did_you_mean_or("ratee", ["rate", "delay"], "keys"), "; did you mean `rate`?");
        assert_eq!(did_you_mean_or("colour", ["rate", "delay"], "keys"), "; keys: rate, delay");
    }
}
