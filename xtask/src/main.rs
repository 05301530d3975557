//! `cargo xtask`: writes generated documents and records of figures.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use xtask::{Result, documents, golden, instructions, page, published, records, root, workspace};

const HELP: &str = "\
cargo xtask docs                       write the documents that are generated from the code
cargo xtask docs --check               say which of them differ; 1 if one does
cargo xtask golden                     write the golden figures, tests/golden/figures.tsv, and mark published ones
                                       that are older
cargo xtask records DOCUMENT           write the record of a document of weir reproduce qsccp --json
cargo xtask instructions               count the instructions of a packet-hop, and write tests/golden/instructions.tsv
cargo xtask instructions --check       say where they are more than there; 1 if so. The table has the figures of the build
                                       of .ci/run: `make instructions` makes it
cargo xtask publish FOLDER...          put the figures that weir compare wrote into these folders into the data of the pages
                                       on schemes, docs/data/published.csv, and write these pages

WEIR=path names the command `weir` that is run; else it is built.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[&str]) -> Result<ExitCode> {
    match arguments {
        ["docs"] => write_documents()?,
        ["docs", "--check"] => return check_documents(),
        ["golden"] => {
            let weir = weir()?;
            golden::write(&|| Command::new(&weir))?;
            write_published_pages()?;
        }
        ["records", document] => {
            records::write(Path::new(document))?;
            write_documents()?;
        }
        ["instructions"] => match instructions::obstacle() {
            None => instructions::write(&weir()?)?,
            Some(why) => return Err(why.into()),
        },
        ["instructions", "--check"] => return check_instructions(),
        ["publish", folders @ ..] if !folders.is_empty() => {
            published::publish(folders)?;
            write_published_pages()?;
        }
        [] | ["help" | "--help"] => println!("{HELP}"),
        _ => return Err(format!("there is no such task; there are\n{HELP}").into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn write_documents() -> Result<()> {
    for name in page::write(&root(), &documents::documents(&weir()?)?)? {
        println!("{name}");
    }
    Ok(())
}

/// Writes the pages of published figures, with marks where these are older than the golden ones.
fn write_published_pages() -> Result<()> {
    for name in page::write(&root(), &published::documents()?)? {
        println!("{name}");
    }
    Ok(())
}

fn check_documents() -> Result<ExitCode> {
    let differing = page::differing(&root(), &documents::documents(&weir()?)?)?;
    for name in &differing {
        println!("{name}: differs from the code: `cargo xtask docs` writes it");
    }
    Ok(if differing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check_instructions() -> Result<ExitCode> {
    if let Some(why) = instructions::obstacle() {
        println!("skipped: {why}");
        return Ok(ExitCode::SUCCESS);
    }
    let worse = instructions::check(&weir()?)?;
    if worse.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    for line in worse {
        println!("{line}");
    }
    println!("If it is meant: `make instructions`, and say why in the message of the commit.");
    Ok(ExitCode::FAILURE)
}

/// The command in `WEIR`, or else the one that the tests run, which is built.
fn weir() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("WEIR") {
        return Ok(path.into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--quiet", "--profile", "test", "--package", "weir"];
    if !Command::new(cargo).args(build).current_dir(root()).status()?.success() {
        return Err("weir does not build".into());
    }
    Ok(Path::new(&workspace::target()?).join("debug/weir"))
}
