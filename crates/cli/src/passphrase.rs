//! Passphrases: from a file, or typed on the terminal without echo.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use zeroize::Zeroizing;

use crate::Failure;

/// Source of the passphrase of a private key.
#[derive(Debug, clap::Args)]
pub struct Source {
    /// The file whose first line is the passphrase; without it, the terminal asks for the passphrase
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl Source {
    /// The passphrase of an existing key.
    pub fn of_old(&self, what: &str) -> Result<Zeroizing<String>, Failure> {
        self.of_file().unwrap_or_else(|| ask(&format!("Passphrase of {what}: ")))
    }

    /// A passphrase for a new key. On a terminal it must be typed twice.
    pub fn of_new(&self, what: &str) -> Result<Zeroizing<String>, Failure> {
        if let Some(passphrase) = self.of_file() {
            return passphrase;
        }
        let first = ask(&format!("New passphrase for {what}: "))?;
        if first != ask("Repeat the passphrase: ")? {
            return Err("the two passphrases differ".into());
        }
        Ok(first)
    }

    fn of_file(&self) -> Option<Result<Zeroizing<String>, Failure>> {
        let path = self.passphrase_file.as_ref()?;
        let read = || {
            let text = Zeroizing::new(
                fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?,
            );
            let line = text.lines().next().unwrap_or_default();
            if line.is_empty() {
                return Err(
                    format!("{}: the first line is empty: wanted a passphrase", path.display()).into()
                );
            }
            Ok(Zeroizing::new(line.to_owned()))
        };
        Some(read())
    }
}

fn ask(prompt: &str) -> Result<Zeroizing<String>, Failure> {
    if !io::stderr().is_terminal() {
        return Err("there is no terminal to ask for a passphrase: give --passphrase-file".into());
    }
    let answer = rpassword::prompt_password(prompt).map(Zeroizing::new);
    let answer = answer
        .map_err(|error| format!("the terminal gives no passphrase ({error}): give --passphrase-file"))?;
    if answer.is_empty() {
        return Err("a passphrase must not be empty".into());
    }
    Ok(answer)
}
