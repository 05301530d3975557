//! Names: ranges such as `C{1..4}`, and the rules for names.

use weir_core::name::MAX_COMPONENTS;
use weir_packet::Name;

/// The largest length of a prefix, bytes. With the largest payload, 8192 B, and the other fields, a Data then
/// has at most 8800 B.
const MAX_PREFIX_BYTES: usize = 400;

/// The largest number of names of a range.
pub const MAX_NAMES: usize = 100_000;

/// Returns the names that a text with ranges describes: `C{1..4}` is C1, C2, C3, C4, and `{a,b}` is each of
/// the texts. Several ranges in one text give every combination; the last one changes fastest. `{}` stands
/// for 0, 1, … below `count`.
///
/// # Errors
/// Returns a message if the text is wrong or describes too many names.
pub fn expand(text: &str, count: Option<usize>) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, after) = (&rest[..open], &rest[open + 1..]);
        let Some(close) = after.find('}') else {
            return Err(format!("`{text}` has a `{{` without its `}}`"));
        };
        if before.contains('}') {
            return Err(format!("`{text}` has a `}}` without its `{{`"));
        }
        let parts = range(text, &after[..close], count)?;
        if names.len().saturating_mul(parts.len()) > MAX_NAMES {
            return Err(format!("`{text}` stands for more than {MAX_NAMES} names"));
        }
        names = names.iter().flat_map(|n| parts.iter().map(move |p| format!("{n}{before}{p}"))).collect();
        rest = &after[close + 1..];
    }
    if rest.contains('}') {
        return Err(format!("`{text}` has a `}}` without its `{{`"));
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

fn range(text: &str, inner: &str, count: Option<usize>) -> Result<Vec<String>, String> {
    if inner.is_empty() {
        return match count {
            Some(n) if n <= MAX_NAMES => Ok((0..n).map(|i| i.to_string()).collect()),
            Some(_) => Err(format!("`{text}` stands for more than {MAX_NAMES} names")),
            None => Err(format!("`{text}` has `{{}}`, which needs `count`")),
        };
    }
    if let Some((from, to)) = inner.split_once("..") {
        let number = |s: &str| s.trim().parse::<u64>().ok();
        let (Some(from), Some(to)) = (number(from), number(to)) else {
            return Err(format!("`{{{inner}}}` in `{text}` is not a range such as {{0..9}}"));
        };
        if from > to {
            return Err(format!("the range `{{{inner}}}` in `{text}` is reversed"));
        }
        if to - from >= MAX_NAMES as u64 {
            return Err(format!("`{text}` stands for more than {MAX_NAMES} names"));
        }
        return Ok((from..=to).map(|i| i.to_string()).collect());
    }
    if inner.contains(',') {
        return Ok(inner.split(',').map(|s| s.trim().to_owned()).collect());
    }
    Err(format!("`{{{inner}}}` in `{text}` is not a range such as {{0..9}} nor a list such as {{a,b}}"))
}

/// Checks the name of a node. Without `>`, `.`, `|` and quotes, `A->B`, `link.A-B.rate` and `A->B|C` are
/// unambiguous.
pub fn check_node(name: &str) -> Result<(), String> {
    if is_spelt(name, "_- ,") {
        return Ok(());
    }
    Err(format!("`{name}` is not a node's name: letters, digits, `_`, `-`, `,` and blanks within"))
}

/// Checks the name of a flow group, window, event or axis: it has no dot or `=`.
pub fn check_label(name: &str) -> Result<(), String> {
    if is_spelt(name, "_-+:, ") {
        return Ok(());
    }
    let rule = "letters, digits, `_ - + : ,` and blanks within, so that `--set` can use it";
    Err(format!("`{name}` is not a name: {rule}"))
}

/// Returns whether a name has only letters, digits and these characters, and no blank at its ends.
fn is_spelt(name: &str, others: &str) -> bool {
    let has_blank_end = name.starts_with(' ') || name.ends_with(' ');
    !name.is_empty() && !has_blank_end && name.chars().all(|c| c.is_alphanumeric() || others.contains(c))
}

/// Removes the quotes that a name may have in a longer text: `'New York'` is New York.
pub fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let within = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    within('\'').or(within('"')).unwrap_or(text)
}

/// Splits a link from its name, if the text has one: `A-B:upper` is A-B and upper. No node's name has a
/// colon.
pub fn link_and_name(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((link, name)) => (link, Some(name.trim())),
        None => (text, None),
    }
}

/// Returns every way to read two names with a `-` between them: `A-B-C` is A and B-C, or A-B and C. Names may
/// be quoted: `'A-B'-C` is only the second.
pub fn pairs(text: &str) -> Vec<(&str, &str)> {
    let is_quoted = |part: &str| part.contains(['\'', '"']);
    let dashes = text.match_indices('-').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let pairs = dashes.map(|(a, b)| (unquoted(a), unquoted(b)));
    pairs.filter(|(a, b)| !a.is_empty() && !b.is_empty() && !is_quoted(a) && !is_quoted(b)).collect()
}

/// Returns the one of [`pairs`] whose names both satisfy `fits`.
///
/// # Errors
/// Returns a message if there is no such pair, or if there are several.
pub fn pair(text: &str, fits: impl Fn(&str, &str) -> bool) -> Result<(&str, &str), String> {
    let all = pairs(text);
    let fitting: Vec<_> = all.iter().filter(|(a, b)| fits(a, b)).copied().collect();
    match (&fitting[..], &all[..]) {
        // If there is only one reading, the error is that a node does not exist.
        ([one], _) | ([], [one]) => Ok(*one),
        ([(a, b), ..], _) => Err(format!("`{text}` may be several links; quote the names: \"'{a}'-'{b}'\"")),
        ([], _) => Err(format!("`{text}` is not two nodes such as \"R1-R2\"")),
    }
}

/// Checks a name prefix. `empty` is whether `/` alone is valid.
pub fn check_prefix(uri: &str, empty: bool) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("`{uri}` is not a name prefix such as /video/0: {why}"));
    let Some(rest) = uri.strip_prefix('/') else { return wrong("it begins with `/`") };
    if rest.is_empty() {
        return if empty { Ok(()) } else { wrong("it has at least one component") };
    }
    for component in rest.split('/') {
        if component.is_empty() {
            return wrong("a component is empty");
        }
        if component.bytes().all(|b| b == b'.') {
            return wrong("a component is not only dots");
        }
        let mut bytes = component.bytes();
        while let Some(b) = bytes.next() {
            let good = match b {
                b'%' => (0..2).all(|_| bytes.next().is_some_and(|h| h.is_ascii_hexdigit())),
                b'-' | b'.' | b'_' | b'~' | b'=' => true,
                _ => b.is_ascii_alphanumeric(),
            };
            if !good {
                return wrong("its letters are A-Z, a-z, 0-9, `-._~=` and %XX");
            }
        }
    }
    let name: Name = match uri.parse() {
        Ok(name) => name,
        Err(error) => return wrong(&format!("{error}")),
    };
    let components = rest.split('/').count();
    if components >= MAX_COMPONENTS {
        let most = MAX_COMPONENTS - 1;
        return Err(format!(
            "the prefix has {components} components, but a name has at most {MAX_COMPONENTS}, and the last is the \
             segment: a prefix has at most {most}"
        ));
    }
    if name.value().len() > MAX_PREFIX_BYTES {
        return Err(format!(
            "the prefix has {} bytes, but a packet has no room for more than {MAX_PREFIX_BYTES}",
            name.value().len()
        ));
    }
    Ok(())
}

/// Returns whether `prefix` covers `name`, component by component.
pub fn covers(prefix: &str, name: &str) -> bool {
    prefix == "/" || name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether a name matches a pattern in which `*` stands for any text.
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or("")) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_stands_for_each_of_its_names() {
        assert_eq!(expand("C{1..3}", None), Ok(vec!["C1".into(), "C2".into(), "C3".into()]));
        assert_eq!(expand("/{a,b}/{0..1}", None).unwrap(), ["/a/0", "/a/1", "/b/0", "/b/1"]);
        assert_eq!(expand("/A{}", Some(2)).unwrap(), ["/A0", "/A1"]);
        assert_eq!(expand("R1", None).unwrap(), ["R1"]);
        assert_eq!(expand("/A{}", Some(0)).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_wrong_range_says_so() {
        for bad in
            ["C{1..", "C}1{", "{}", "{1}", "{2..1}", "{0..99999999}", "{0..999}{0..999}", "{a..b}", "}"]
        {
            assert!(expand(bad, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_with_dashes_are_told_apart_by_the_nodes_there_are_or_by_quotes() {
        let nodes = |a: &str, b: &str| {
            ["R-1", "New York", "A", "1-A"].iter().filter(|n| [a, b].contains(n)).count() == 2
        };
        assert_eq!(pair("R-1-New York", nodes), Ok(("R-1", "New York")));
        assert_eq!(pair("'R-1'-\"New York\"", nodes), Ok(("R-1", "New York")));
        assert_eq!(pair("R1-R2", nodes), Ok(("R1", "R2")));
        assert!(pair("X-Y-Z", nodes).is_err() && pair("AB", nodes).is_err());
        let said = pair("a-b-c", |_, _| true).unwrap_err();
        assert!(said.contains("'a'-'b-c'"), "{said}");
        assert_eq!(pair("'a-b'-c", |_, _| true), Ok(("a-b", "c")));
        assert!(check_node("a, b-c").is_ok() && check_node(" a").is_err() && check_node("a>b").is_err());
    }

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(
            fits("*", "R2-R3") && fits("R*-R*", "R2-R3") && fits("R2-R3", "R2-R3") && fits("*R3", "R2-R3")
        );
        assert!(!fits("R*-P*", "R2-R3") && !fits("R2", "R2-R3") && !fits("a*a", "a"));
    }

    #[test]
    fn a_prefix_covers_names_by_whole_components() {
        assert!(covers("/", "/A") && covers("/A", "/A") && covers("/A", "/A/b"));
        assert!(!covers("/A", "/A0") && !covers("/A/b", "/A"));
    }
}
