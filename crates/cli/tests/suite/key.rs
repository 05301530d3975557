//! `weir key`: its results, its messages, and what it must not print.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use weir_keychain::form::{self, Item};
use weir_keychain::store::FOLDER_VARIABLE;

/// A folder with a key chain, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("weir-cli-key-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("passphrase"), "open sesame\nnot this\n").unwrap();
        Folder(path)
    }

    fn run(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.env(FOLDER_VARIABLE, self.0.join("keys")).current_dir(&self.0).stdin(Stdio::null());
        command.arg("key").args(line.split_whitespace()).output().unwrap()
    }

    /// The output of a command that succeeds.
    fn done(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The error of a command that fails.
    fn error(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(output.stdout.is_empty(), "{line}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn list(&self, identity: &str) -> Vec<Value> {
        serde_json::from_str(&self.done(&format!("list {identity} --json"))).unwrap()
    }

    /// The name of an identity's only key.
    fn key(&self, identity: &str) -> String {
        let [row] = &self.list(identity)[..] else { panic!("one key of {identity}") };
        row["key"].as_str().unwrap().to_owned()
    }

    fn file(&self, name: &str, content: &str) -> &Path {
        fs::write(self.0.join(name), content).unwrap();
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn keys_are_made_and_listed() {
    let folder = Folder::new("new");
    assert_eq!(folder.list("/"), Vec::<Value>::new());
    let said = folder.done("new /alice --default --days 10");
    assert!(
        said.starts_with("Made the key /alice/KEY/") && said.ends_with("It is the default key.\n"),
        "{said}"
    );
    folder.done("new /alice/phone --type hmac");
    folder.done("new /bob/KEY/chosen --type ecdsa");
    let all = folder.list("/");
    let of = |key: &str| all.iter().map(|row| row[key].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("identity"), ["/bob", "/alice", "/alice/phone"], "in the order of names");
    assert_eq!(of("type"), ["ecdsa", "ed25519", "hmac"]);
    assert_eq!(of("key")[0], "/bob/KEY/chosen");
    assert_eq!(all.iter().map(|row| row["default"] == true).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(
        all.iter().map(|row| row["certificates"].as_array().unwrap().len()).collect::<Vec<_>>(),
        [1, 1, 0]
    );
    let certificate = &all[1]["certificates"][0];
    assert_eq!((&certificate["valid"], &certificate["signed_by"]), (&Value::Bool(true), &all[1]["key"]));
    assert_eq!(folder.list("/alice").len(), 2);
    let table = folder.done("list");
    assert!(table.contains("self/v=") && table.contains("hmac"), "{table}");
    assert_eq!(folder.done("default").trim(), of("key")[1]);
    assert!(folder.error("new /bob/KEY/chosen").contains("not overwritten"));
    assert!(folder.error("new /bob/KEY/k/self/v=1").contains("wanted an identity"));
    assert!(folder.error("new /bob --type rsa").contains("wanted ed25519, ecdsa or hmac"));
}

#[test]
fn a_certificate_is_exported_in_every_form_and_taken_again() {
    let [ours, theirs] = [Folder::new("ours"), Folder::new("theirs")];
    ours.done("new /alice");
    let name = ours.list("/alice")[0]["certificates"][0]["name"].as_str().unwrap().to_owned();
    for form in ["base64", "binary", "ndnd"] {
        ours.done(&format!("export /alice --format {form} --output {}", theirs.0.join(form).display()));
        assert_eq!(theirs.done(&format!("import {form}")), format!("Imported the certificate {name}.\n"));
        let row = &theirs.list("/alice")[0];
        assert_eq!((&row["type"], &row["certificates"][0]["name"]), (&Value::Null, &Value::from(&*name)));
        assert!(
            theirs.error("export /alice --private").contains("there is no key and no certificate /alice")
        );
        theirs.done(&format!("delete {name}"));
    }
    assert!(ours.error("export /alice --format pem").contains("wanted base64, binary or ndnd"));
    assert!(ours.error("export /carol").contains("`weir key list`"));
    assert!(theirs.error("export").contains("`weir key new` makes one"));
    let again = format!("export /alice --output {}", theirs.0.join("base64").display());
    assert!(ours.error(&again).contains("not overwritten"));
}

#[test]
fn a_private_key_is_exported_in_every_form_and_taken_again() {
    for typ in ["ed25519", "ecdsa"] {
        let ours = Folder::new(&format!("private-{typ}"));
        ours.done(&format!("new /alice --type {typ}"));
        let key = ours.key("/alice");
        for (form, more) in [
            ("base64", "--passphrase-file passphrase"),
            ("binary", "--passphrase-file passphrase"),
            ("ndnd", ""),
            ("pem", ""),
        ] {
            let theirs = Folder::new(&format!("private-{typ}-{form}"));
            let file = theirs.0.join("key");
            ours.done(&format!("export /alice --private --format {form} {more} --output {}", file.display()));
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
            let said = theirs.done(&format!("import key {more}"));
            assert!(said.starts_with(&format!("Imported the private key {key}, {typ}.\n")), "{said}");
            assert_eq!(
                (theirs.key("/alice"), &theirs.list("/alice")[0]["type"]),
                (key.clone(), &Value::from(typ))
            );
            assert_eq!(theirs.list("/alice")[0]["certificates"].as_array().unwrap().len(), 1, "{form}");
            let again = theirs.done(&format!("import key {more}"));
            assert!(
                again.starts_with(&format!("The private key {key}, {typ}, exists already.\n")),
                "{again}"
            );
        }
        ours.file("wrong", "open\n");
        ours.done("export /alice --private --passphrase-file passphrase --output bag");
        assert!(ours.error("import bag --passphrase-file wrong").contains("the passphrase is wrong"));
        ours.file("empty", "\n");
        assert!(ours.error("import bag --passphrase-file empty").contains("the first line is empty"));
        assert!(ours.error("import bag").contains("--passphrase-file"));
    }
}

#[test]
fn a_secret_is_exported_as_such_alone() {
    let folder = Folder::new("secret");
    folder.done("new /alice --type hmac");
    for form in ["base64", "binary", "ndnd"] {
        assert!(
            folder.error(&format!("export /alice --private --format {form}")).contains("wanted --format pem")
        );
    }
    assert!(folder.error("export /alice").contains("which has no certificate"));
    let text = folder.done("export /alice --private --format pem");
    let Item::Key(key) = form::read(text.as_bytes(), None).unwrap().remove(0) else { panic!("{text}") };
    assert_eq!(key.name().to_string(), folder.key("/alice"));
}

#[test]
fn private_keys_are_printed_by_no_other_command() {
    let folder = Folder::new("printed");
    folder.done("new /alice --default");
    let secret = folder.done("export --private --format pem");
    let body = secret.lines().nth(2).unwrap();
    folder.file("key", &secret);
    let other = Folder::new("printed-other");
    let lines = ["list", "list --json", "default", "export", "export --format ndnd", "new /bob"];
    let mut said: Vec<String> = lines.iter().map(|line| folder.done(line)).collect();
    said.push(folder.done("export --private --passphrase-file passphrase"));
    said.push(other.done(&format!("import {}", folder.0.join("key").display())));
    said.push(folder.done("import key"));
    assert!(said.iter().all(|said| !said.contains(body) && !said.is_empty()), "{said:?}");
}

#[test]
fn a_key_of_another_tool_has_no_name_and_gets_one() {
    let folder = Folder::new("unnamed");
    folder.done("new /alice --type ecdsa");
    let text = folder.done("export /alice --private --format pem");
    let (_, block) = text.split_once('\n').unwrap();
    let other = Folder::new("unnamed-other");
    other.file("key", block);
    assert!(other.error("import key").contains("give a name with --name"));
    let said = other.done("import key --name /bob");
    assert!(
        said.contains("Imported the private key /bob/KEY/") && said.contains("Made the certificate"),
        "{said}"
    );
    other.done("import key --name /bob/KEY/two");
    folder.done("new /carol");
    let text = folder.done("export /carol --private --format pem");
    other.file("another", text.split_once('\n').unwrap().1);
    assert!(other.error("import another --name /bob/KEY/two").contains("not overwritten"));
    assert_eq!(other.list("/bob").len(), 2);
    let several = other.error("export /bob");
    assert!(several.contains("name one") && several.contains("/bob/KEY/two"), "{several}");
}

#[test]
fn a_certificate_is_issued_to_who_has_the_key() {
    let folder = Folder::new("certify");
    folder.done("new /lab --default");
    folder.done("new /lab/alice --type ecdsa");
    folder.done("export /lab/alice --output request");
    let issued = folder.done("certify request --issuer lab --days 30");
    folder.file("issued", &issued);
    assert!(folder.done("import issued").contains("/lab/v="));
    let row = &folder.list("/lab/alice")[0];
    let by: Vec<&Value> =
        row["certificates"].as_array().unwrap().iter().map(|own| &own["signed_by"]).collect();
    let lab = Value::from(folder.done("default").trim());
    assert_eq!(by, [&lab, &row["key"]]);
    assert!(folder.error("certify issued").contains("wanted a self-signed certificate"));
    // The newest certificate is the exported one.
    assert_eq!(folder.done("export /lab/alice"), issued);
    folder.done("new /com");
    folder.done("export /com --output com");
    let output = folder.run("certify com");
    assert!(
        output.status.success()
            && String::from_utf8_lossy(&output.stderr).starts_with("note: /com is not under /lab")
    );
}

#[test]
fn nothing_is_deleted_without_a_yes() {
    let folder = Folder::new("delete");
    folder.done("new /alice --default");
    folder.done("new /alice");
    let key = folder.done("default").trim().to_owned();
    assert!(folder.error("delete /alice").contains("--yes"));
    assert_eq!(folder.list("/alice").len(), 2);
    let said = folder.done("delete /alice --yes");
    assert_eq!(said, format!("Deleted the key {key}, with its certificates.\n"));
    assert_eq!(folder.list("/alice").len(), 1);
    folder.done("default /alice");
    assert!(folder.error("delete /bob --yes").contains("there is no key and no certificate /bob"));
}

#[test]
fn what_has_a_name_keeps_it_and_what_is_there_is_not_taken_again() {
    let folder = Folder::new("again");
    folder.done("new /alice/KEY/one");
    let certificate = folder.done("export /alice");
    let key = folder.done("export /alice --private --format pem");
    let other = Folder::new("again-other");
    other.file("alice.cert", &certificate);
    assert!(other.done("import alice.cert").starts_with("Imported the certificate /alice/KEY/one/"));
    assert!(other.done("import alice.cert").ends_with(" exists already.\n"));
    other.file("alice.pem", &key);
    for file in ["alice.cert", "alice.pem"] {
        let said = other.error(&format!("import {file} --name /other"));
        assert!(said.contains("the key has the name /alice/KEY/one, which --name cannot change"), "{said}");
        other.done(&format!("import {file} --name /alice"));
    }
    for (name, words) in [
        ("/alice/KEY", "ends in KEY"),
        ("/alice/KEY/one/self", "has KEY"),
        ("/alice/KEY/one/self/v=1", "is the name of a certificate"),
    ] {
        let said = folder.error(&format!("new {name}"));
        assert!(said.contains(words) && said.contains("wanted an identity such as /alice"), "{said}");
    }
}

#[test]
fn files_that_hold_nothing_are_refused_with_what_would_be_right() {
    let folder = Folder::new("files");
    folder.file("text", "hello");
    assert!(folder.error("import text").contains("wanted base64, binary, or a block"));
    assert!(folder.error("import nowhere").contains("nowhere"));
    folder.file("x509", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    assert!(folder.error("import x509").contains("wanted NDN CERT"));
    let zero = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["key", "--keychain", "keys", "import", "/dev/zero"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&zero.stderr).contains("too large for keys"));
}
