//! Where the numbers of a scenario come from, in as many rows as a person reads: what many nodes,
//! links or flows have in common stands in one row, and long values are shortened.

use std::collections::BTreeMap;

/// Parts of a scenario that it may have hundreds of.
const MANY: [&str; 3] = ["node", "link", "flow"];
/// Names shown of those that share a row.
const NAMES: usize = 3;
/// Different values of one key and source that still have a row each.
const VALUES: usize = 8;
/// The length above which a value is shortened.
const LONG: usize = 80;

/// The settings that share a row.
struct Row<'a> {
    source: &'a str,
    /// The path, before and after the name.
    ends: (&'a str, &'a str),
    names: Vec<&'a str>,
    /// The different values, as many as matter.
    values: Vec<&'a str>,
    distinct: usize,
}

/// Settings, `path = value` and the source of each, folded in their order.
pub(crate) fn folded(settings: &[(String, String)]) -> Vec<(String, String)> {
    // How many values there are of each key and source, to see which have to share a row.
    let mut values: BTreeMap<[&str; 3], BTreeMap<&str, usize>> = BTreeMap::new();
    for (setting, source) in settings {
        if let Some((section, _, key, value)) = parts(setting) {
            let known = values.entry([section, key, source]).or_default();
            let next = known.len();
            known.entry(value).or_insert(next);
        }
    }
    let mut rows: Vec<Result<Row<'_>, (String, String)>> = Vec::new();
    let mut row_of: BTreeMap<([&str; 3], Option<&str>), usize> = BTreeMap::new();
    for (setting, source) in settings {
        let Some((section, name, key, value)) = parts(setting) else {
            let (path, value) = setting.split_once(" = ").unwrap_or((setting, ""));
            let setting =
                if value.is_empty() { path.to_owned() } else { format!("{path} = {}", short(value)) };
            rows.push(Err((setting, source.clone())));
            continue;
        };
        let all = &values[&[section, key, source]];
        let own = (all.len() <= VALUES).then_some(value);
        let at = *row_of.entry(([section, key, source], own)).or_insert_with(|| {
            let distinct = if own.is_some() { 1 } else { all.len() };
            let ends = (section, key);
            rows.push(Ok(Row { source, ends, names: Vec::new(), values: Vec::new(), distinct }));
            rows.len() - 1
        });
        let Some(Ok(row)) = rows.get_mut(at) else { continue };
        row.names.push(name);
        if row.values.len() < NAMES && !row.values.contains(&value) {
            row.values.push(value);
        }
    }
    rows.into_iter().map(|row| row.map_or_else(|one| one, |row| row.text())).collect()
}

impl Row<'_> {
    fn text(&self) -> (String, String) {
        let (section, key) = self.ends;
        let names = match self.names.len() {
            1 => self.names[0].to_owned(),
            n if n <= NAMES + 1 => format!("{{{}}}", self.names.join(", ")),
            n => format!("{{{n}: {}, …}}", self.names[..NAMES].join(", ")),
        };
        let values = match (self.distinct, &self.values[..]) {
            (1, [value, ..]) => short(value),
            (n, values) => {
                let some: Vec<String> = values.iter().map(|value| short(value)).collect();
                format!("{n} values: {}, …", some.join(", "))
            }
        };
        (format!("{section}.{names}.{key} = {values}"), self.source.to_owned())
    }
}

/// Section, name, key and value of a setting of something that there may be many of.
fn parts(setting: &str) -> Option<(&str, &str, &str, &str)> {
    let (path, value) = setting.split_once(" = ")?;
    let (section, rest) = path.split_once('.')?;
    let (name, key) = rest.rsplit_once('.')?;
    MANY.contains(&section).then_some((section, name, key, value))
}

/// A value in one line: of a long list, how many there are and the first.
fn short(value: &str) -> String {
    if value.chars().count() <= LONG {
        return value.to_owned();
    }
    let list = [('{', '}', "names"), ('[', ']', "values")].into_iter().find_map(|(open, close, what)| {
        let inside = value.strip_prefix(open)?.strip_suffix(close)?;
        let all: Vec<&str> = inside.split(',').map(str::trim).collect();
        let first = all.get(..NAMES).filter(|_| all.len() > NAMES + 1)?.join(", ");
        (first.chars().count() <= LONG).then(|| format!("{} {what}: {first}, …", all.len()))
    });
    list.unwrap_or_else(|| format!("{}…", value.chars().take(LONG).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(settings: &[(&str, &str)]) -> Vec<String> {
        let settings: Vec<(String, String)> =
            settings.iter().map(|(setting, source)| ((*setting).to_owned(), (*source).to_owned())).collect();
        folded(&settings).into_iter().map(|(setting, source)| format!("{setting} | {source}")).collect()
    }

    #[test]
    fn what_links_have_in_common_is_one_row() {
        let told = rows(&[
            ("duration = 120 s", "paper"),
            ("link.A-B.rate = 100 Mb/s", "files"),
            ("link.B-C.rate = 100 Mb/s", "files"),
            ("link.C-D.rate = 10 Mb/s", "files"),
            ("link.D-E.rate = 100 Mb/s", "assumed"),
            ("scheme.qsccp.weights.AF2 = 3", "paper"),
            ("scheme.qsccp.weights.AF1 = 2", "paper"),
        ]);
        assert_eq!(
            told,
            [
                "duration = 120 s | paper",
                "link.{A-B, B-C}.rate = 100 Mb/s | files",
                "link.C-D.rate = 10 Mb/s | files",
                "link.D-E.rate = 100 Mb/s | assumed",
                "scheme.qsccp.weights.AF2 = 3 | paper",
                "scheme.qsccp.weights.AF1 = 2 | paper",
            ]
        );
    }

    #[test]
    fn hundreds_of_values_are_one_row() {
        let settings: Vec<(String, String)> = (0..400)
            .flat_map(|i| {
                let of = |key: &str, value: String| {
                    (format!("link.n{i}-n{}.{key} = {value}", i + 1), "assumed: a network".to_owned())
                };
                [of("delay", format!("{} ms", i % 100)), of("queue", "200 packets".to_owned())]
            })
            .collect();
        let told = folded(&settings);
        assert_eq!(told.len(), 2);
        assert_eq!(told[0].0, "link.{400: n0-n1, n1-n2, n2-n3, …}.delay = 100 values: 0 ms, 1 ms, 2 ms, …");
        assert_eq!(told[1].0, "link.{400: n0-n1, n1-n2, n2-n3, …}.queue = 200 packets");
    }

    #[test]
    fn long_values_are_shortened() {
        let names: Vec<String> = (0..250).map(|i| format!("n{i}")).collect();
        let setting = format!("flow.BE.consumer = {{{}}}", names.join(","));
        assert_eq!(rows(&[(&setting, "a")]), ["flow.BE.consumer = 250 names: n0, n1, n2, … | a"]);
        let setting = format!("x.values = [{}]", vec!["\"1 ms\""; 99].join(", "));
        assert_eq!(rows(&[(&setting, "a")]), [r#"x.values = 99 values: "1 ms", "1 ms", "1 ms", … | a"#]);
        let told = rows(&[(&format!("title = {}", "ä".repeat(5000)), "a")]);
        assert!(told[0].chars().count() < 100);
    }
}
