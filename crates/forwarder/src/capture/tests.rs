use std::fs;
use std::process::Command;

use super::*;

/// A test's own folder.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("weir-capture-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("all.pcapng")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A packet as a reader of the format sees it.
#[derive(Debug, PartialEq)]
struct Read {
    interface: String,
    unix_ns: u64,
    flags: u32,
    bytes: Vec<u8>,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut all = Vec::new();
    loop {
        let (code, length) = (u16_at(bytes, 0), usize::from(u16_at(bytes, 2)));
        if code == 0 {
            assert_eq!((length, bytes.len()), (0, 4));
            return all;
        }
        all.push((code, bytes[4..4 + length].to_vec()));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
}

/// The packets of a file. The parser follows the specification, not the code under test.
fn read(path: &Path) -> Vec<Read> {
    let file = fs::read(path).unwrap();
    let (mut at, mut interfaces, mut packets) = (0, Vec::new(), Vec::new());
    while at < file.len() {
        let length = u32_at(&file, at + 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(u32_at(&file, at + length - 4) as usize, length);
        let body = &file[at + 8..at + length - 4];
        match u32_at(&file, at) {
            0x0A0D_0D0A => {
                assert_eq!(at, 0);
                assert_eq!((u32_at(body, 0), u16_at(body, 4), u16_at(body, 6)), (0x1A2B_3C4D, 1, 0));
                assert_eq!(options(&body[16..]), [(4, b"weir test".to_vec())]);
            }
            1 => {
                assert_eq!((u16_at(body, 0), u32_at(body, 4)), (1, 0));
                let options = options(&body[8..]);
                assert_eq!((options[0].0, &options[1]), (2, &(9, vec![9])));
                interfaces.push(String::from_utf8(options[0].1.clone()).unwrap());
            }
            6 => {
                let [interface, high, low, captured, original] = [0, 4, 8, 12, 16].map(|at| u32_at(body, at));
                assert_eq!(captured, original);
                let end = 20 + captured as usize;
                let options = options(&body[end.next_multiple_of(4)..]);
                let flags = u32::from_le_bytes(options[0].1.clone().try_into().unwrap());
                packets.push(Read {
                    interface: interfaces[interface as usize].clone(),
                    unix_ns: u64::from(high) << 32 | u64::from(low),
                    flags,
                    bytes: body[20..end].to_vec(),
                });
            }
            other => panic!("a block of type {other}"),
        }
        at += length;
    }
    packets
}

const T: u64 = 1_800_000_000_123_456_789;

#[test]
fn what_is_written_is_read_again() {
    let folder = Folder::new("read");
    let mut capture = Capture::create(&folder.file(), 1 << 20, "weir test").unwrap();
    capture.add_face(258, "udp4://192.0.2.1:6363");
    capture.frame(T, 258, Direction::Received, b"\x05\x03\x07\x01\x08");
    capture.add_face(3, "unix:///run/nfd/nfd.sock");
    capture.frame(T + 1, 3, Direction::Sent, &[7; 8800]);
    capture.frame(T + 2, 258, Direction::Sent, b"");
    capture.frame(T + 3, 77, Direction::Sent, b"a face that nobody knows");
    capture.remove_face(3);
    capture.frame(T + 4, 3, Direction::Sent, b"one that is gone");
    assert_eq!(capture.counters(), CaptureCounters { frames: 3, lost: 2, files: 1, errors: 0 });
    assert_eq!(fs::metadata(folder.file()).unwrap().len(), 0, "a packet costs no system call");
    drop(capture);
    let packets = read(&folder.file());
    let (udp, unix) = ("258 udp4://192.0.2.1:6363".to_owned(), "3 unix:///run/nfd/nfd.sock".to_owned());
    let bytes = b"\x02\0\0\0\0\0\x02\x01\0\0\x01\x02\x86\x24\x05\x03\x07\x01\x08".to_vec();
    assert_eq!(packets[0], Read { interface: udp.clone(), unix_ns: T, flags: 1, bytes });
    assert_eq!(packets[1].bytes[..14], *b"\x02\x01\0\0\0\x03\x02\0\0\0\0\0\x86\x24");
    assert_eq!((&packets[1].interface, packets[1].flags, packets[1].bytes.len()), (&unix, 2, 8814));
    assert_eq!((&packets[2].interface, packets[2].unix_ns, packets[2].bytes.len()), (&udp, T + 2, 14));
    assert_eq!(packets.len(), 3);
}

#[test]
fn a_full_file_gives_way_to_another_with_all_faces() {
    let folder = Folder::new("rotate");
    let mut capture = Capture::create(&folder.file(), 100_000, "weir test").unwrap();
    capture.add_face(1, "udp4://192.0.2.1:6363");
    capture.add_face(2, "udp4://192.0.2.2:6363");
    for at in 0..300 {
        capture.frame(T + at, 1 + at % 2, Direction::Received, &[at as u8; 1000]);
    }
    let counters = capture.counters();
    assert_eq!((counters.frames, counters.lost, counters.errors), (300, 0, 0));
    assert_eq!(counters.files, 4);
    drop(capture);
    let (older, newer) = (read(&folder.0.join("all.pcapng.1")), read(&folder.file()));
    assert!(fs::metadata(folder.0.join("all.pcapng.1")).unwrap().len() < 100_000 + 2000);
    // Together they are the last packets, in order, without gaps.
    let times: Vec<u64> = older.iter().chain(&newer).map(|packet| packet.unix_ns - T).collect();
    assert_eq!(times, (300 - times.len() as u64..300).collect::<Vec<_>>());
    assert!(times.len() > 90);
    for packet in older.iter().chain(&newer) {
        let face = 1 + (packet.unix_ns - T) % 2;
        assert_eq!(packet.interface, format!("{face} udp4://192.0.2.{face}:6363"));
    }
}

#[test]
fn a_file_that_is_there_is_kept() {
    let folder = Folder::new("kept");
    fs::write(folder.file(), "what was there").unwrap();
    drop(Capture::create(&folder.file(), 100_000, "weir test").unwrap());
    assert_eq!(fs::read_to_string(folder.0.join("all.pcapng.1")).unwrap(), "what was there");
    assert!(read(&folder.file()).is_empty());
}

#[test]
fn a_full_disk_costs_frames_and_nothing_else() {
    let mut capture = Capture {
        path: "/dev/full".into(),
        limit: 1 << 30,
        software: "weir test".into(),
        output: Output::create(Path::new("/dev/full")).unwrap(),
        faces: Vec::new(),
        interfaces: 0,
        counters: CaptureCounters::default(),
    };
    capture.begin();
    capture.add_face(1, "udp4://192.0.2.1:6363");
    for at in 0..1000 {
        capture.frame(T + at, 1, Direction::Received, &[0; 1000]);
    }
    let counters = capture.counters();
    assert_eq!((counters.errors, counters.frames + counters.lost), (1, 1000));
    assert!(counters.lost > 700);
}

#[test]
fn no_folder_is_an_error_at_the_start() {
    let error = Capture::create(Path::new("no-such-folder/all.pcapng"), 1 << 20, "weir test").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

/// If Wireshark's reader is installed, it reads our files.
#[test]
fn tshark_reads_the_file() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let folder = Folder::new("tshark");
    let mut capture = Capture::create(&folder.file(), 1 << 20, "weir test").unwrap();
    capture.add_face(258, "udp4://192.0.2.1:6363");
    capture.frame(T, 258, Direction::Received, b"\x05\x03\x07\x01\x08");
    capture.frame(T + 1, 258, Direction::Sent, &[7; 8800]);
    drop(capture);
    let fields = ["frame.time_epoch", "frame.interface_name", "frame.len", "eth.src", "eth.type"];
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let output =
        Command::new("tshark").arg("-r").arg(folder.file()).args(["-T", "fields"]).args(fields).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let first = ["1800000000.123456789", "258 udp4://192.0.2.1:6363", "19", "02:01:00:00:01:02", "0x8624"];
    assert_eq!(lines[0][1..], first[1..]);
    assert!(lines[0][0].starts_with(first[0]) || lines[0][0].contains("123456789"), "{text}");
    assert_eq!((lines[1][2], lines[1][3], lines.len()), ("8814", "02:00:00:00:00:00", 2));
}
