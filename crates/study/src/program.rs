//! The program and the command that made a result.

use weir_core::units::Span;
use weir_measure::RunDocument;

/// The version, with the commit from which the program was built.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WEIR_COMMIT"), ")");

/// The commit from which the program was built; `unknown` outside a checkout.
pub const COMMIT: &str = env!("WEIR_COMMIT");

/// A digest of everything in the program that decides the figures of a run: the sources of the simulator and
/// of the crates below it, and the versions of the libraries. Two programs with the same digest make the same
/// runs.
pub const SOURCES: &str = env!("WEIR_SOURCES");

/// A command line under construction. It leaves out options for the place of results.
#[derive(Clone, Debug)]
pub struct CommandLine(Vec<String>);

impl CommandLine {
    /// Begins with `weir SUBCOMMAND SCENARIO`.
    pub fn new(subcommand: &str, scenario: &str) -> CommandLine {
        CommandLine::of(subcommand).words([scenario])
    }

    /// Returns an empty command, for a scenario without a file.
    pub fn none() -> CommandLine {
        CommandLine(Vec::new())
    }

    /// Begins with `weir SUBCOMMAND`.
    pub fn of(subcommand: &str) -> CommandLine {
        CommandLine(vec!["weir".to_owned(), subcommand.to_owned()])
    }

    /// Adds positional arguments.
    pub fn words<T: ToString>(mut self, words: impl IntoIterator<Item = T>) -> CommandLine {
        self.0.extend(words.into_iter().map(|word| word.to_string()));
        self
    }

    /// Adds an option once for each of its values.
    pub fn option<T: ToString>(mut self, name: &str, values: impl IntoIterator<Item = T>) -> CommandLine {
        self.0.extend(values.into_iter().flat_map(|value| [name.to_owned(), value.to_string()]));
        self
    }

    /// Adds an option without a value.
    pub fn flag(mut self, name: &str, is_set: bool) -> CommandLine {
        self.0.extend(is_set.then(|| name.to_owned()));
        self
    }

    /// Writes the program's version and this command into a document.
    pub fn sign(&self, document: &mut RunDocument) {
        document.schema = RunDocument::SCHEMA;
        document.version = VERSION.to_owned();
        document.command = self.text();
    }

    /// Returns the words, quoted for a shell.
    pub fn text(&self) -> String {
        self.0.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// Formats a window for `--window`, in seconds.
pub fn window_text(window: &(Span, Span)) -> String {
    format!("{}:{}", window.0.as_secs_f64(), window.1.as_secs_f64())
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let windows = [(Span::from_secs(20), Span::from_secs(120)), (Span::ZERO, Span::from_millis(1500))];
        let line = CommandLine::new("run", "it's mine.toml")
            .option("--scheme", Some("pcon"))
            .option("--set", ["link.R2-R3.rate=20 Mb/s", "a=b"])
            .option("--window", windows.iter().map(window_text))
            .flag("--check-wire", true)
            .flag("--never", false);
        assert_eq!(
            line.text(),
            r"weir run 'it'\''s mine.toml' --scheme pcon --set 'link.R2-R3.rate=20 Mb/s' --set a=b --window 20:120 --window 0:1.5 --check-wire"
        );
    }
}
