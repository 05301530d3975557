//! Scenarios by name or path.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use weir_core::units::Span;
use weir_scenario::{Override, Scenario, builtin, builtins, nearest};

use crate::{Failure, terminal};

/// How large a scenario file may be.
const MAX_BYTES: u64 = 64_000_000;

/// The scenario that the user means: a built-in name, or else a file; with `--set` applied.
pub fn scenario(name: &str, set: &[String]) -> Result<Scenario, Failure> {
    let overrides: Vec<Override> = set.iter().map(|text| Override::parse(text)).collect::<Result<_, _>>()?;
    let (label, text) = match builtin(name) {
        Some(text) => (format!("built-in scenario {name}"), text.to_owned()),
        None => (name.to_owned(), file(name)?),
    };
    let waiting = terminal::waiting("preparing nodes, flows and routes");
    let scenario = Scenario::parse(name, &label, &text, &overrides);
    waiting.finish_and_clear();
    let scenario = scenario?;
    weir_sim::check_schemes(&scenario)?;
    Ok(scenario)
}

/// The text of a scenario file.
fn file(name: &str) -> Result<String, String> {
    let path = Path::new(name);
    if path.is_dir() {
        return Err(folder(path));
    }
    let mut bytes = Vec::new();
    // No more than may be: what is read need not be a file with an end.
    match File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let names: Vec<_> = builtins().into_iter().map(|(name, _)| name).collect();
            let meant =
                meant(name, &names).map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
            return Err(format!(
                "there is no scenario and no file called `{name}`{meant}\n  built-in scenarios: {}",
                names.join(", ")
            ));
        }
        Err(error) => return Err(format!("cannot read {name}: {error}")),
        Ok(_) => {}
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("{name} is larger than {} MB: it is no scenario", MAX_BYTES / 1_000_000));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count();
        format!("{name}:{line}: this is not text: byte {at} of the file is not UTF-8")
    })
}

/// The one of some built-in scenarios that was probably meant, by its name with its folder or without.
pub fn meant<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let short = |full: &&'a str| full.rsplit('/').next().map(|short| (short, *full));
    let shorts: Vec<(&str, &str)> = names.iter().filter_map(short).collect();
    let of_short = |name: &str| {
        let near = nearest(name, shorts.iter().map(|(short, _)| *short))?;
        shorts.iter().find(|(short, _)| *short == near).map(|(_, full)| *full)
    };
    nearest(name, names.iter().copied()).or_else(|| of_short(name))
}

/// What is said of a folder, with the scenarios in it.
fn folder(path: &Path) -> String {
    let mut files: Vec<String> = fs::read_dir(path)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.display().to_string())
        .collect();
    files.sort_unstable();
    files.truncate(10);
    let right = if files.is_empty() {
        "give a scenario file, NAME.toml, or a built-in scenario (see `weir list`)".to_owned()
    } else {
        format!("give a file in it: {}", files.join(", "))
    };
    format!("{} is a folder, not a scenario\n  = {right}", path.display())
}

/// A window: `20:120` is in seconds, `500ms:2s` has units.
pub fn window(text: &str) -> Result<(Span, Span), String> {
    let wrong =
        || format!("--window {text}: a window is two times with a colon between, such as 20:120 or 500ms:2s");
    let (from, to) = text.split_once(':').ok_or_else(wrong)?;
    if text.starts_with('-') || to.starts_with('-') {
        return Err(format!("--window {text}: a window begins at 0 or later, such as 20:120 or 500ms:2s"));
    }
    let time =
        |text: &str| text.parse::<Span>().or_else(|_| format!("{text} s").parse()).map_err(|_| wrong());
    Ok((time(from)?, time(to)?))
}
