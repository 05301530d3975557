//! Seeds in the form that every command accepts.

use core::fmt;
use core::str::FromStr;

/// The largest number of seeds in a study.
const MOST: u64 = 100_000;

/// The seeds of a study, each once, in order. `10` means the seeds 1 to 10, `3..8` the seeds 3 to 8, and
/// `1,5,9` these three.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds {
    text: String,
    seeds: Vec<u64>,
}

impl Seeds {
    /// Returns these seeds.
    ///
    /// # Errors
    /// Returns a message if there is no seed, or if one is given twice.
    pub fn of(seeds: Vec<u64>) -> Result<Seeds, String> {
        if seeds.is_empty() {
            return Err("give at least one seed".to_owned());
        }
        let mut sorted = seeds.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("seed {} is given twice: a seed gives the same run each time", twice[0]));
        }
        let from = seeds[0];
        let is_range = seeds.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
        let text = match (is_range, from) {
            (true, 1) => seeds.len().to_string(),
            (true, _) if seeds.len() > 1 => format!("{from}..{}", seeds[seeds.len() - 1]),
            // A number alone is a count.
            (_, _) if seeds.len() == 1 => format!("{from}..{from}"),
            _ => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
        };
        Ok(Seeds { text, seeds })
    }

    /// Returns the seeds.
    pub fn list(&self) -> &[u64] {
        &self.seeds
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Seeds, String> {
        const RIGHT: &str = "10 (the seeds 1 to 10), 3..8 (the seeds 3 to 8) or 1,5,9";
        let number = |text: &str| {
            text.trim().parse::<u64>().map_err(|_| format!("`{text}`: seeds are written {RIGHT}"))
        };
        let range = |from: u64, to: u64| {
            if from > to {
                return Err(format!("`{text}`: the first seed is larger than the last"));
            }
            if to - from >= MOST {
                return Err(format!("`{text}`: at most {MOST} seeds"));
            }
            Seeds::of((from..=to).collect())
        };
        if let Some((from, to)) = text.split_once("..") {
            return range(number(from)?, number(to)?);
        }
        if text.contains(',') {
            return Seeds::of(text.split(',').map(number).collect::<Result<_, _>>()?);
        }
        match number(text)? {
            0 => Err(format!("`{text}`: at least one seed; seeds are written {RIGHT}")),
            count => range(1, count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<u64> {
        text.parse::<Seeds>().unwrap().list().to_vec()
    }

    #[test]
    fn seeds_are_a_count_a_range_or_a_list() {
        assert_eq!(list("3"), [1, 2, 3]);
        assert_eq!(list("3..5"), [3, 4, 5]);
        assert_eq!(list("0..0"), [0]);
        assert_eq!(list("9, 1,5"), [9, 1, 5]);
    }

    #[test]
    fn seeds_are_written_as_they_are_read() {
        for text in ["3", "3..5", "0..0", "9,1,5", "1", "18446744073709551615,0", "5,18446744073709551615"] {
            let seeds: Seeds = text.parse().unwrap();
            assert_eq!(seeds.to_string(), text);
            assert_eq!(Seeds::of(seeds.list().to_vec()).unwrap(), seeds);
        }
    }

    #[test]
    fn the_largest_seed_is_one() {
        let last = Seeds::of(vec![u64::MAX]).unwrap();
        assert_eq!(last.to_string(), "18446744073709551615..18446744073709551615");
        assert_eq!(last.to_string().parse::<Seeds>().unwrap(), last);
    }

    #[test]
    fn what_is_no_list_of_seeds_is_refused() {
        for text in
            ["", "0", "a", "5..3", "1,1", "1..", "-1", "1..1000000000", "1,,2", "99999999999999999999"]
        {
            assert!(text.parse::<Seeds>().is_err(), "{text}");
        }
    }
}
