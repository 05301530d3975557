//! `weir key`: private keys and certificates.

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::Serialize;
use weir_keychain::form::{self, FormError, Item};
use weir_keychain::{
    Algorithm, Certificate, Key, KeyChain, KeyName, Moment, SafeBag, SafeBagError, StoreError, Validity,
};
use weir_measure::to_json;
use weir_net::clock::wall_ms;
use weir_packet::{Component, Name};
use weir_results::{table, terminal_width};
use zeroize::Zeroizing;

use crate::manage::text;
use crate::passphrase::Source;
use crate::{Failure, terminal};

/// Make, list, export and import keys and certificates
///
/// A NAME is an identity such as /alice, which stands for its default or only key; or the name of a key,
/// `/alice/KEY/<key id>`; or the name of a certificate, `/alice/KEY/<key id>/<issuer>/<version>`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    /// The folder with the keys; by default the folder in WEIR_KEYCHAIN, or else ~/.ndn/weir
    #[arg(long, value_name = "FOLDER", global = true)]
    keychain: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key and, except for HMAC, a self-signed certificate
    New {
        /// The identity of the key, or the name of the key
        name: Name,
        /// ed25519, ecdsa (with the curve P-256), or hmac (a shared secret)
        #[arg(long = "type", value_name = "TYPE", default_value_t)]
        algorithm: Algorithm,
        /// Make it the default key, which commands use if you name no key
        #[arg(long)]
        default: bool,
        /// Validity of the certificate, days from now
        #[arg(long, default_value_t = SELF_SIGNED_DAYS, value_parser = clap::value_parser!(u32).range(1..))]
        days: u32,
    },
    /// List the keys and certificates
    List {
        /// Only keys of this identity and of identities under it
        identity: Option<Name>,
        /// Print the list as JSON and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Print a certificate, or a private key (--private)
    Export(Export),
    /// Import the certificates and private keys of a file, in any format of `weir key export`
    Import {
        /// The file; - is standard input
        file: PathBuf,
        /// The name for a private key without a name in the file (-----BEGIN PRIVATE KEY-----): an identity, or the
        /// name of a key
        #[arg(long)]
        name: Option<Name>,
        #[command(flatten)]
        passphrase: Source,
    },
    /// Certify the key of a self-signed certificate, and print the new certificate
    Certify {
        /// The file with the self-signed certificate; - is standard input
        file: PathBuf,
        /// The key that signs; by default the default key
        #[arg(long, value_name = "NAME")]
        by: Option<Name>,
        /// The issuer component of the certificate's name
        #[arg(long, value_name = "WORD", default_value = "NA")]
        issuer: String,
        /// Validity, days from now
        #[arg(long, default_value_t = ISSUED_DAYS, value_parser = clap::value_parser!(u32).range(1..))]
        days: u32,
    },
    /// Delete a private key with its certificates, or one certificate
    Delete {
        /// The identity (if it has one key), the key or the certificate
        name: Name,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Show or set the default key
    Default {
        /// The new default key
        name: Option<Name>,
    },
}

#[derive(Debug, clap::Args)]
struct Export {
    /// The key or certificate to export; by default the default key
    name: Option<Name>,
    /// Export the private key instead of the certificate
    #[arg(long)]
    private: bool,
    /// The format; a private key is encrypted in base64 and binary (a SafeBag), but not in ndnd and pem
    #[arg(long, default_value = "base64")]
    format: Form,
    /// Write to a new file; only its owner may read the file of a private key
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    passphrase: Source,
}

/// Format of keys and certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// The format of ndnsec and pyndnsec
    Base64,
    /// The same without base64
    Binary,
    /// The format of ndnd: -----BEGIN NDN CERT-----, -----BEGIN NDN KEY-----
    Ndnd,
    /// Only private keys: -----BEGIN PRIVATE KEY-----, PKCS #8; or an HMAC secret
    Pem,
}

/// Validity of self-signed certificates, days: 20 years, as in `ndnsec` and `pyndnsec`.
const SELF_SIGNED_DAYS: u32 = 7300;
/// Validity of certificates for other keys, days: a year, as in `ndnsec` and `ndnd`.
const ISSUED_DAYS: u32 = 365;
/// Certificates are valid from this long before now, ms. Assumed: a minute, more than the difference of clocks set by
/// NTP.
const BACKDATED_MS: u64 = 60_000;
/// Maximum size of an input file, bytes: hundreds of certificates.
const MAX_FILE: u64 = 1 << 20;

/// Runs the command.
pub fn key(args: &Args) -> Result<(), Failure> {
    let chain = match &args.keychain {
        Some(folder) => KeyChain::at(folder.clone()),
        None => KeyChain::of_user()?,
    };
    match &args.command {
        Command::New { name, algorithm, default, days } => new(&chain, name, *algorithm, *default, *days),
        Command::List { identity, json } => list(&chain, identity.as_ref(), *json),
        Command::Export(wanted) => export(&chain, wanted),
        Command::Import { file, name, passphrase } => import(&chain, file, name.as_ref(), passphrase),
        Command::Certify { file, by, issuer, days } => certify(&chain, file, by.as_ref(), issuer, *days),
        Command::Delete { name, yes } => delete(&chain, name, *yes),
        Command::Default { name } => default(&chain, name.as_ref()),
    }
}

fn now() -> Moment {
    Moment::from_unix_ms(wall_ms())
}

/// The validity begins slightly before now, because other clocks may be behind.
fn days_from(now: Moment, days: u32) -> Validity {
    let not_before = Moment::from_unix_ms(now.unix_ms().saturating_sub(BACKDATED_MS));
    Validity { not_before, not_after: now.plus_days(days) }
}

fn self_signed(key: &Key, days: u32) -> Result<Certificate, Failure> {
    let now = now();
    Ok(Certificate::self_signed(key, now, days_from(now, days))?)
}

fn new(chain: &KeyChain, name: &Name, algorithm: Algorithm, default: bool, days: u32) -> Result<(), Failure> {
    let key = match KeyName::of_key(name.view()) {
        Some(name) => Key::generate_named(name, algorithm)?,
        None => Key::generate(identity(name)?.view(), algorithm)?,
    };
    let certificate = if algorithm == Algorithm::Hmac { None } else { Some(self_signed(&key, days)?) };
    chain.insert_key(&key)?;
    let mut said = format!("Made the key {}, {algorithm}.\n", key.name());
    if let Some(certificate) = certificate {
        chain.insert_certificate(&certificate)?;
        said += &format!("Its certificate is valid until {}.\n", certificate.validity().not_after);
    }
    if default {
        chain.set_default(key.name())?;
        said += "It is the default key.\n";
    }
    terminal::print(&said)
}

/// Checks that a name can be an identity, that is, not the name of a key or a certificate.
fn identity(name: &Name) -> Result<&Name, Failure> {
    let what = if KeyName::of_certificate(name.view()).is_some() {
        "is the name of a certificate"
    } else if name.view().last() == Some(Component::generic(b"KEY")) {
        "ends in KEY, so it is no identity"
    } else if KeyName::of_locator(name.view()).is_some() {
        "has KEY at its position in the names of keys and certificates"
    } else {
        return Ok(name);
    };
    Err(format!(
        "{name} {what}: wanted an identity such as /alice, or the name of a key, /alice/KEY/<key id>"
    )
    .into())
}

/// A key: private, or known only from its certificates.
#[derive(Debug, Serialize)]
struct Row {
    key: String,
    identity: String,
    /// `None` if there is no private key.
    r#type: Option<&'static str>,
    default: bool,
    certificates: Vec<CertificateRow>,
}

#[derive(Debug, Serialize)]
struct CertificateRow {
    name: String,
    signed_by: Option<String>,
    not_before: String,
    not_after: String,
    valid: bool,
}

impl CertificateRow {
    fn of(certificate: &Certificate, now: Moment) -> CertificateRow {
        let validity = certificate.validity();
        CertificateRow {
            name: certificate.name().to_string(),
            signed_by: certificate.key_locator().map(|name| name.to_string()),
            not_before: validity.not_before.to_string(),
            not_after: validity.not_after.to_string(),
            valid: validity.contains(now),
        }
    }
}

fn rows(chain: &KeyChain, identity: Option<&Name>) -> Result<Vec<Row>, Failure> {
    let (keys, certificates, default, now) =
        (chain.keys()?, chain.certificates()?, chain.default_key()?, now());
    let mut names: Vec<&KeyName> = keys.iter().map(Key::name).collect();
    names.extend(certificates.iter().map(Certificate::key_name));
    names.sort();
    names.dedup();
    names.retain(|name| identity.is_none_or(|identity| name.identity().starts_with(identity.view())));
    let row = |name: &&KeyName| {
        let its = certificates.iter().filter(|certificate| certificate.key_name() == *name);
        Row {
            key: name.to_string(),
            identity: name.identity().to_string(),
            r#type: keys.iter().find(|key| key.name() == *name).map(|key| key.algorithm().name()),
            default: default.as_ref() == Some(name),
            certificates: its.map(|certificate| CertificateRow::of(certificate, now)).collect(),
        }
    };
    Ok(names.iter().map(row).collect())
}

fn list(chain: &KeyChain, identity: Option<&Name>, json: bool) -> Result<(), Failure> {
    let rows = rows(chain, identity)?;
    chain.unused()?.iter().for_each(|error| note!("warning: {error}: it is not used"));
    if json {
        return terminal::print(&to_json(&rows));
    }
    let mut table = table(&["key", "type", "default", "certificate by", "valid until"], [], terminal_width());
    for row in &rows {
        let typ = row.r#type.unwrap_or("no private key");
        let default = if row.default { "yes" } else { "" };
        let first = [row.key.as_str(), typ, default];
        let mut cells = row.certificates.iter().map(|own| {
            let by = own.name.strip_prefix(&row.key).unwrap_or(&own.name).trim_start_matches('/').to_owned();
            [by, if own.valid { own.not_after.clone() } else { "not valid now".to_owned() }]
        });
        let mut add = |first: [&str; 3], [by, until]: [String; 2]| {
            table.add_row([first[0], first[1], first[2], &by, &until]);
        };
        add(first, cells.next().unwrap_or_default());
        cells.for_each(|cells| add([""; 3], cells));
    }
    terminal::print(&text(&table))
}

/// The exported value.
enum Exported {
    Text(Zeroizing<String>),
    Bytes(Vec<u8>),
}

impl Exported {
    fn bytes(&self) -> &[u8] {
        match self {
            Exported::Text(text) => text.as_bytes(),
            Exported::Bytes(bytes) => bytes,
        }
    }

    /// Encodes a packet as text or bytes, depending on the format.
    fn packet(wire: Vec<u8>, form: Form) -> Exported {
        if form == Form::Binary { Exported::Bytes(wire) } else { Exported::Text(form::base64(&wire).into()) }
    }
}

fn certificate_in(certificate: &Certificate, form: Form) -> Result<Exported, Failure> {
    match form {
        Form::Base64 | Form::Binary => Ok(Exported::packet(certificate.wire().to_vec(), form)),
        Form::Ndnd => Ok(Exported::Text(form::certificate_pem(certificate).into())),
        Form::Pem => Err("a certificate has no format pem: wanted base64, binary or ndnd\n  --private exports the private key".into()),
    }
}

fn export(chain: &KeyChain, wanted: &Export) -> Result<(), Failure> {
    let name = wanted.name.as_ref().map(Name::view);
    if !wanted.private {
        let certificate = match name {
            Some(name) => chain.certificate(name).map_err(|error| without_certificate(chain, name, error))?,
            None => chain.certificate(chain.key(None)?.name().name())?,
        };
        return write(&certificate_in(&certificate, wanted.format)?, wanted, false);
    }
    let key = chain.key(name)?;
    let is_encrypted = matches!(wanted.format, Form::Base64 | Form::Binary);
    let exported = match wanted.format {
        Form::Pem => Exported::Text(form::key_pem(&key)),
        Form::Ndnd => {
            let text =
                form::ndnd_key_pem(&key).ok_or("ndnd has no format for an HMAC key: wanted --format pem")?;
            Exported::Text(text)
        }
        Form::Base64 | Form::Binary if key.algorithm() == Algorithm::Hmac => {
            return Err("an HMAC key has no certificate, and so no SafeBag: wanted --format pem".into());
        }
        Form::Base64 | Form::Binary => {
            let certificate = chain.certificate(key.name().name())?;
            let passphrase = wanted.passphrase.of_new(&key.name().to_string())?;
            let bag = SafeBag::seal(&key, &certificate, passphrase.as_bytes())?;
            Exported::packet(bag.encode(), wanted.format)
        }
    };
    write(&exported, wanted, !is_encrypted)
}

/// The error for a missing certificate. An HMAC key has none.
fn without_certificate(chain: &KeyChain, name: weir_packet::NameRef<'_>, error: StoreError) -> Failure {
    match chain.key(Some(name)) {
        Ok(key) if key.algorithm() == Algorithm::Hmac => {
            format!("{} is an HMAC key, which has no certificate: --private exports the secret", key.name())
                .into()
        }
        _ => error.into(),
    }
}

/// Writes to the file or to standard output. A secret is not written to a terminal.
fn write(exported: &Exported, wanted: &Export, is_secret: bool) -> Result<(), Failure> {
    let Some(path) = &wanted.output else {
        let is_terminal = io::stdout().is_terminal();
        if is_terminal && is_secret {
            return Err(
                "this would print the private key unencrypted on the terminal: give --output, or --format base64"
                    .into(),
            );
        }
        return match exported {
            Exported::Text(text) => terminal::print(text),
            Exported::Bytes(_) if is_terminal => {
                Err("a terminal cannot show binary data: give --output".into())
            }
            Exported::Bytes(bytes) => {
                let mut out = io::stdout();
                out.write_all(bytes)
                    .and_then(|()| out.flush())
                    .map_err(|error| format!("standard output could not be written: {error}").into())
            }
        };
    };
    let mode = if wanted.private { 0o600 } else { 0o644 };
    let made = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let written = made.and_then(|mut file| {
        let written = file.write_all(exported.bytes()).and_then(|()| file.sync_all());
        // An incomplete key file is useless, and would prevent the next try.
        written.inspect_err(|_| drop(fs::remove_file(path)))
    });
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{}: the file exists and is not overwritten: give another name", path.display()).into()
        }
        _ => format!("{}: {error}", path.display()).into(),
    })
}

/// Reads a file, or standard input.
fn read(file: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let failed = |error: io::Error| -> Failure { format!("{}: {error}", file.display()).into() };
    let mut bytes = Zeroizing::new(Vec::new());
    if file == Path::new("-") {
        io::stdin().lock().take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        fs::File::open(file)
            .and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes))
            .map_err(failed)?;
    }
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("{}: larger than {MAX_FILE} bytes, too large for keys", file.display()).into());
    }
    Ok(bytes)
}

fn import(chain: &KeyChain, file: &Path, name: Option<&Name>, passphrase: &Source) -> Result<(), Failure> {
    let bytes = read(file)?;
    if let Some(name) = name {
        check_needed(file, &bytes, name)?;
    }
    let name = match name {
        Some(name) => Some(match KeyName::of_key(name.view()) {
            Some(name) => name,
            // Only the generated name is used, not the key.
            None => Key::generate(identity(name)?.view(), Algorithm::Hmac)?.name().clone(),
        }),
        None => None,
    };
    let items = form::read(&bytes, name.as_ref()).map_err(|error| in_file(file, &error))?;
    let (mut keys, mut certificates) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Certificate(certificate) => certificates.push(certificate),
            Item::Key(key) => keys.push(key),
            Item::SafeBag(bag) => {
                let what = bag.certificate().key_name().to_string();
                keys.push(open(file, &bag, passphrase.of_old(&what)?.as_bytes())?);
                certificates.push(bag.certificate().clone());
            }
        }
    }
    keys.iter().try_for_each(|key| take(chain, key))?;
    let had = chain.certificates()?;
    for certificate in &certificates {
        let name = certificate.name();
        if had.iter().any(|had| had.name() == name) {
            terminal::print(&format!("The certificate {name} exists already.\n"))?;
            continue;
        }
        chain.insert_certificate(certificate)?;
        terminal::print(&format!("Imported the certificate {name}.\n"))?;
    }
    let kept = chain.certificates()?;
    let is_certified = |key: &Key| kept.iter().any(|certificate| certificate.key_name() == key.name());
    for key in keys.iter().filter(|key| key.algorithm() != Algorithm::Hmac && !is_certified(key)) {
        let certificate = self_signed(key, SELF_SIGNED_DAYS)?;
        chain.insert_certificate(&certificate)?;
        terminal::print(&format!("Made the certificate {}, because there was none.\n", certificate.name()))?;
    }
    Ok(())
}

/// Refuses --name for a key that has a name already.
fn check_needed(file: &Path, bytes: &[u8], name: &Name) -> Result<(), Failure> {
    let Ok(items) = form::read(bytes, None) else { return Ok(()) };
    let own = items.iter().map(|item| match item {
        Item::Certificate(certificate) => certificate.key_name(),
        Item::Key(key) => key.name(),
        Item::SafeBag(bag) => bag.certificate().key_name(),
    });
    let is_other = |own: &&KeyName| ![own.name(), own.identity()].contains(&name.view());
    match own.into_iter().find(is_other) {
        Some(own) => {
            Err(format!("{}: the key has the name {own}, which --name cannot change", file.display()).into())
        }
        None => Ok(()),
    }
}

/// Stores a private key. The same key may already exist.
fn take(chain: &KeyChain, key: &Key) -> Result<(), Failure> {
    let (name, algorithm) = (key.name(), key.algorithm());
    match chain.insert_key(key) {
        Err(StoreError::KeyExists(_)) if chain.key(Some(name.name()))?.is_same(key) => {
            terminal::print(&format!("The private key {name}, {algorithm}, exists already.\n"))
        }
        done => {
            done?;
            terminal::print(&format!("Imported the private key {name}, {algorithm}.\n"))
        }
    }
}

fn in_file(file: &Path, error: &FormError) -> Failure {
    let advice = if *error == FormError::Name { "\n  give a name with --name" } else { "" };
    format!("{}: {error}{advice}", file.display()).into()
}

fn open(file: &Path, bag: &SafeBag, passphrase: &[u8]) -> Result<Key, Failure> {
    bag.open(passphrase).map_err(|error: SafeBagError| format!("{}: {error}", file.display()).into())
}

fn certify(chain: &KeyChain, file: &Path, by: Option<&Name>, issuer: &str, days: u32) -> Result<(), Failure> {
    let bytes = read(file)?;
    let mut found = form::certificates(&bytes).map_err(|error| in_file(file, &error))?;
    let (Some(request), true) = (found.pop(), found.is_empty()) else {
        return Err(format!("{}: the file has several certificates: wanted one", file.display()).into());
    };
    // The sender has the private key, and intends this name.
    let is_own = request.verifier()?.verify_data(request.wire()).is_ok();
    if !is_own {
        let error = format!(
            "{}: {} is not signed by its own key: wanted a self-signed certificate",
            file.display(),
            request.name()
        );
        return Err(error.into());
    }
    let key = chain.key(by.map(Name::view))?;
    let now = now();
    let (name, public) = (request.key_name(), request.public_key_der());
    let issuer = (&key, Component::generic(issuer.as_bytes()));
    let certificate = Certificate::issue(name, public, issuer, now.unix_ms(), days_from(now, days))?;
    if !name.identity().starts_with(key.name().identity()) {
        note!(
            "note: {} is not under {}: verifiers that require hierarchical names reject this certificate",
            name.identity(),
            key.name().identity()
        );
    }
    terminal::print(&form::base64(certificate.wire()))
}

fn delete(chain: &KeyChain, name: &Name, yes: bool) -> Result<(), Failure> {
    if KeyName::of_certificate(name.view()).is_some() {
        chain.remove_certificate(name.view())?;
        return terminal::print(&format!("Deleted the certificate {name}.\n"));
    }
    let key = match chain.key(Some(name.view())) {
        // Certificates of other keys have no private key.
        Err(StoreError::NotFound(_)) => {
            let certificate = chain.certificate(name.view())?;
            let error =
                format!("there is no private key {name}\n  there is the certificate {}", certificate.name());
            return Err(error.into());
        }
        key => key?.name().clone(),
    };
    if !yes && !is_confirmed(&key)? {
        return Err("nothing is deleted".into());
    }
    chain.remove_key(&key)?;
    terminal::print(&format!("Deleted the key {key}, with its certificates.\n"))
}

fn is_confirmed(key: &KeyName) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(format!("{key} cannot be restored after it is deleted: confirm with --yes").into());
    }
    write!(io::stderr(), "Delete the private key {key}? It cannot be restored. [y/N] ")
        .map_err(|error| format!("the question cannot be asked: {error}"))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(|error| format!("the terminal gives no answer: {error}"))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn default(chain: &KeyChain, name: Option<&Name>) -> Result<(), Failure> {
    let key = chain.key(name.map(Name::view))?.name().clone();
    if name.is_some() {
        chain.set_default(&key)?;
    }
    terminal::print(&format!("{key}\n"))
}
