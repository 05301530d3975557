//! Tests of a Unix socket's file.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net;
use std::path::Path;

use weir_net::transport::Options;
use weir_net::transport::unix::UnixListener;

use crate::files::Folder;

fn bind(path: &Path) -> std::io::Result<UnixListener> {
    UnixListener::bind(path, 0o660, Options::default())
}

fn refused(path: &Path) -> String {
    let error = bind(path).map(|_| ()).expect_err("the path is taken");
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    error.to_string()
}

#[test]
fn a_socket_left_behind_is_replaced() {
    let folder = Folder::new();
    let path = folder.path("left.sock");
    drop(net::UnixListener::bind(&path).expect("free"));
    assert!(path.exists());
    drop(bind(&path).expect("nobody listens there"));
    assert!(!path.exists(), "its own it takes away");
}

#[test]
fn the_socket_of_a_living_program_is_left_alone() {
    let folder = Folder::new();
    let path = folder.path("live.sock");
    let live = net::UnixListener::bind(&path).expect("free");
    assert!(refused(&path).contains("another process listens"));
    net::UnixStream::connect(&path).expect("it is there still");
    live.set_nonblocking(true).expect("set");
    while live.accept().is_ok() {}
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let folder = Folder::new();
    let path = folder.path("file");
    fs::write(&path, "precious").expect("written");
    assert!(refused(&path).contains("not a socket"));
    assert_eq!(fs::read_to_string(&path).expect("there"), "precious");
    std::os::unix::fs::symlink(&path, folder.path("link")).expect("made");
    assert!(refused(&folder.path("link")).contains("not a socket"));
}

#[test]
fn the_file_has_the_permissions_that_were_asked_for() {
    let folder = Folder::new();
    for mode in [0o600, 0o660, 0o666] {
        let path = folder.path("new/folder/nfd.sock");
        let _listener = UnixListener::bind(&path, mode, Options::default()).expect("free");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, mode);
    }
}

#[test]
fn the_socket_of_a_successor_is_not_taken_away() {
    let folder = Folder::new();
    let path = folder.path("nfd.sock");
    let first = bind(&path).expect("free");
    fs::remove_file(&path).expect("removed by somebody");
    let _second = bind(&path).expect("free");
    drop(first);
    net::UnixStream::connect(&path).expect("the second listens still");
}

#[test]
fn a_path_that_is_too_long_is_an_error() {
    let folder = Folder::new();
    let path = folder.path(&"x".repeat(120));
    let error = bind(&path).map(|_| ()).expect_err("too long").to_string();
    assert!(error.contains("cannot listen on"), "{error}");
}
