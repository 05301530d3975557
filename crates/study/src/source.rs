//! Scenarios by name or path, and at a point of their axes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_core::units::Span;
use weir_scenario::{Files, Override, Scenario, builtin, builtins, nearest};

use crate::error::StudyError;
use crate::papers;

/// The largest size of a scenario file, bytes.
const MAX_BYTES: u64 = 64_000_000;

/// The text of a scenario, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    name: String,
    /// The label of the text in messages.
    label: String,
    text: Arc<str>,
    /// Whether a command finds it by its name.
    is_named: bool,
    files: FilesOf,
}

/// The source of the other files that a scenario names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FilesOf {
    /// A folder.
    Folder(PathBuf),
    /// A run from elsewhere, with the texts.
    Given(Arc<[(String, Arc<str>)]>),
}

impl Files for FilesOf {
    fn read(&self, path: &str) -> Result<Arc<str>, String> {
        match self {
            FilesOf::Folder(folder) => {
                let path = folder.join(path);
                text_of(&path, &path.display().to_string()).map(Arc::from)
            }
            FilesOf::Given(given) => {
                let known = given.iter().find(|(known, _)| known == path);
                known
                    .map(|(_, text)| Arc::clone(text))
                    .ok_or_else(|| format!("the file {path} was not sent along"))
            }
        }
    }
}

impl Source {
    /// Finds the scenario with this name: a built-in one, or else a file.
    ///
    /// # Errors
    /// Returns an error if there is no such scenario, or the file cannot be read.
    pub fn find(name: &str) -> Result<Source, StudyError> {
        if let Some(text) = builtin(name) {
            let label = format!("built-in scenario {name}");
            let files = FilesOf::Folder(PathBuf::new());
            return Ok(Source { name: name.to_owned(), label, text: text.into(), is_named: true, files });
        }
        let text = file(name).map_err(StudyError::Invalid)?;
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        let files = FilesOf::Folder(folder.to_owned());
        Ok(Source { is_named: true, files, ..Source::of_text(name, text) })
    }

    /// Returns a scenario with this text and this name in results and messages. Commands do not find it.
    pub fn of_text(name: impl Into<String>, text: impl Into<Arc<str>>) -> Source {
        let name = name.into();
        let files = FilesOf::Folder(PathBuf::new());
        Source { label: name.clone(), name, text: text.into(), is_named: false, files }
    }

    /// Adds the texts of the other files that it names, by their paths in it.
    #[must_use]
    pub fn with_files(self, files: impl IntoIterator<Item = (String, String)>) -> Source {
        let files = files.into_iter().map(|(path, text)| (path, Arc::from(text)));
        Source { files: FilesOf::Given(files.collect()), ..self }
    }

    /// Returns its built-in name or the path of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether a command finds it by its name: a built-in scenario or a file.
    pub fn is_named(&self) -> bool {
        self.is_named
    }

    /// Returns its TOML text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Parses the scenario, applies `--set`, and checks it with the schemes that it names.
    ///
    /// # Errors
    /// Returns all errors in the text and in the settings.
    pub fn read(&self, set: &[String]) -> Result<Scenario, StudyError> {
        let overrides: Vec<Override> =
            set.iter().map(|text| Override::parse(text)).collect::<Result<_, _>>()?;
        let check = |scenario: &Scenario| weir_experiment::check_schemes(scenario).err();
        Ok(Scenario::parse_with_files(&self.name, &self.label, &self.text, &overrides, &self.files, check)?)
    }
}

/// Rejects settings of schemes that run in none of the scenarios, because they would change nothing. The
/// schemes that run are the given ones and those of single flows.
///
/// # Errors
/// Returns an error for the first such setting.
pub fn refuse_idle<'a>(
    set: impl IntoIterator<Item = &'a String>,
    schemes: impl IntoIterator<Item = &'a str>,
    scenarios: impl IntoIterator<Item = &'a Scenario>,
) -> Result<(), StudyError> {
    let flows = scenarios.into_iter().flat_map(|scenario| &scenario.flows);
    let own = flows.filter_map(|flow| flow.scheme.as_deref());
    let mut run: Vec<&str> = Vec::new();
    for scheme in schemes.into_iter().chain(own) {
        if !run.contains(&scheme) {
            run.push(scheme);
        }
    }
    let is_idle = |set: &&String| scheme_setting(set).is_some_and(|(scheme, _)| !run.contains(&scheme));
    match set.into_iter().find(is_idle) {
        Some(set) => {
            let run = run.join(", ");
            Err(StudyError::Invalid(format!(
                "--set {set}: no flow runs this scheme\n  = schemes that run here: {run}"
            )))
        }
        None => Ok(()),
    }
}

/// Returns the scheme and the key of its parameter, if the setting is one of a scheme.
pub fn scheme_setting(set: &str) -> Option<(&str, &str)> {
    set.split_once('=')?.0.trim().strip_prefix("scheme.")?.split_once('.')
}

/// Returns the text of a scenario file.
fn file(name: &str) -> Result<String, String> {
    let path = Path::new(name);
    if path.is_dir() {
        return Err(folder(path));
    }
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(not_found(name)),
        read => checked(read, name),
    }
}

/// Returns the text of another file that a scenario names.
fn text_of(path: &Path, name: &str) -> Result<String, String> {
    if path.is_dir() {
        return Err(format!("{name} is a folder, not a file"));
    }
    checked(read(path), name)
}

/// Reads at most the largest size, because the source need not be a file with an end.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))?;
    Ok(bytes)
}

fn checked(read: io::Result<Vec<u8>>, name: &str) -> Result<String, String> {
    let bytes = read.map_err(|error| format!("cannot read {name}: {error}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("{name} is larger than {} MB, too large for a scenario", MAX_BYTES / 1_000_000));
    }
    weir_scenario::text(bytes).map_err(|wrong| format!("{name}:{wrong}"))
}

fn not_found(name: &str) -> String {
    if let Some(experiments) = papers::experiments_of(name) {
        return format!(
            "`{name}` is a paper, not an experiment\n  = its experiments: {}; `weir compare` and `weir reproduce` take the whole paper",
            experiments.join(", ")
        );
    }
    let names: Vec<_> = builtins().into_iter().map(|(name, _)| name).collect();
    let meant = did_you_mean(name, &names);
    format!(
        "there is no scenario and no file called `{name}`{meant}\n  = `weir list` prints the built-in scenarios"
    )
}

/// Returns what was probably meant: the nearest of these built-in names, with or without its folder, and the nearest
/// file of the folder, with or without its extension.
pub(crate) fn did_you_mean(name: &str, names: &[&str]) -> String {
    let built_in = near(name, names, |full| full.rsplit('/').next());
    let (folder, file) = name.rsplit_once('/').map_or(("", name), |(folder, file)| (folder, file));
    let files = files_in(Path::new(folder));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let file = near(file, &files, |file| file.strip_suffix(".toml"));
    let file = file.map(|file| Path::new(folder).join(file).display().to_string());
    let meant = built_in.map(str::to_owned).into_iter().chain(file);
    let meant: Vec<String> = meant.map(|name| format!("`{name}`")).collect();
    if meant.is_empty() { String::new() } else { format!("; did you mean {}?", meant.join(" or ")) }
}

/// Returns the nearest of some names, or else the one with the nearest short name.
fn near<'a>(given: &str, names: &[&'a str], short: impl Fn(&'a str) -> Option<&'a str>) -> Option<&'a str> {
    let shorts = || names.iter().map(|full| short(full).unwrap_or(full));
    let of_short = || {
        let near = nearest(given, shorts())?;
        shorts().position(|short| short == near).map(|at| names[at])
    };
    nearest(given, names.iter().copied()).or_else(of_short)
}

/// Returns the names of the scenario files in a folder; the empty path is the current one.
fn files_in(folder: &Path) -> Vec<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut files: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|file| Path::new(file).extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort_unstable();
    files
}

/// Returns the message for a folder, with the scenarios in it.
fn folder(path: &Path) -> String {
    let mut files: Vec<String> =
        files_in(path).iter().map(|file| path.join(file).display().to_string()).collect();
    files.truncate(10);
    let right = if files.is_empty() {
        "give a scenario file, NAME.toml, or a built-in scenario (see `weir list`)".to_owned()
    } else {
        format!("give a file in it: {}", files.join(", "))
    };
    format!("{} is a folder, not a scenario\n  = {right}", path.display())
}

/// Parses a measuring window: `20:120` is in seconds, `500ms:2s` has units.
///
/// # Errors
/// Returns a message with the correct form if the text is not a window.
pub fn window(text: &str) -> Result<(Span, Span), StudyError> {
    let wrong = || {
        StudyError::Invalid(format!(
            "--window {text}: a window is two times with a colon between, such as 20:120 or 500ms:2s"
        ))
    };
    let (from, to) = text.split_once(':').ok_or_else(wrong)?;
    if text.starts_with('-') || to.starts_with('-') {
        return Err(StudyError::Invalid(format!(
            "--window {text}: a window begins at 0 or later, such as 20:120 or 500ms:2s"
        )));
    }
    let time =
        |text: &str| text.parse::<Span>().or_else(|_| format!("{text} s").parse()).map_err(|_| wrong());
    Ok((time(from)?, time(to)?))
}

/// Returns the name of a scenario as a folder's name: `qsccp/dumbbell` becomes `qsccp-dumbbell`.
pub fn stem(scenario: &str) -> String {
    let stem = Path::new(scenario).with_extension("");
    let name = stem.to_string_lossy().replace(['/', '\\'], "-");
    name.trim_matches(['-', '.']).to_owned()
}
