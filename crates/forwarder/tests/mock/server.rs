//! Management over a Unix socket, for clients: a thread that answers every connection in turn.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use weir_core::units::Time;
use weir_forwarder::management::{Management, ManagementConfig};
use weir_packet::tlv::stream_frame_len;
use weir_packet::{LpHeader, LpPacket, NetPacket, Payload, PitToken, decode_frame};

use crate::mock::Mock;

/// A forwarder with management only.
pub struct Server {
    /// Its socket.
    pub path: PathBuf,
    state: Arc<Mutex<(Management, Mock)>>,
}

impl Server {
    /// Listens in the folder for temporary files; `name` must be its own.
    pub fn start(name: &str) -> Server {
        let path = std::env::temp_dir().join(format!("weir-{name}-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let state = Arc::new(Mutex::new((Management::new(ManagementConfig::default()), Mock::new())));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                serve(&mut stream.unwrap(), &shared);
            }
        });
        Server { path, state }
    }

    /// Its address in the form of `NDN_CLIENT_TRANSPORT`.
    pub fn uri(&self) -> String {
        format!("unix://{}", self.path.display())
    }

    /// Its management and tables.
    pub fn state(&self) -> MutexGuard<'_, (Management, Mock)> {
        self.state.lock().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[allow(clippy::disallowed_methods, reason = "clients command by the clock")]
fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// Answers until the client leaves.
fn serve(stream: &mut UnixStream, state: &Mutex<(Management, Mock)>) {
    let mut received = Vec::new();
    let mut buffer = [0; 8800];
    loop {
        while let Some(len) = stream_frame_len(&received).unwrap().filter(|len| *len <= received.len()) {
            let frame: Vec<u8> = received.drain(..len).collect();
            for reply in answer(&frame, state) {
                if stream.write_all(&reply).is_err() {
                    return;
                }
            }
        }
        match stream.read(&mut buffer) {
            Ok(read) if read > 0 => received.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
}

fn answer(frame: &[u8], state: &Mutex<(Management, Mock)>) -> Vec<Vec<u8>> {
    let (packet, payload) = decode_frame(frame).unwrap();
    let Payload::Packet(NetPacket::Interest(_)) = payload else { return Vec::new() };
    let (management, mock) = &mut *state.lock().unwrap();
    let incoming = mock.faces[&1].clone();
    let mut replies = Vec::new();
    let now = Time::ZERO;
    management.handle_interest(now, wall_ms(), packet.fragment.unwrap(), &incoming, mock, &mut replies);
    let header = LpHeader::with_token(packet.header.pit_token);
    let is_bare = packet.header.pit_token == PitToken::NONE;
    let framed = |data: Vec<u8>| if is_bare { data } else { LpPacket::new(header, &data).to_vec() };
    replies.into_iter().map(framed).collect()
}
