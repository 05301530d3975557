//! Harnesses for the forwarder's transports: hostile bytes in streams, and face URIs.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use mio::event::Source;
use mio::{Interest, Registry, Token};
use weir_net::transport::stream::{FrameReader, Outbox};
use weir_net::transport::websocket;
use weir_net::transport::{Flushed, Received, Sent};
use weir_net::uri::FaceUri;
use weir_packet::{MAX_PACKET_SIZE, tlv};

/// A socket that reads and writes as many bytes per call as a list says. At 0, and at the list's end, it would block.
struct Trickle<'a> {
    steps: VecDeque<usize>,
    input: &'a [u8],
    /// The part that is read to its end first: the other side waits for an answer there.
    first: usize,
    output: Vec<u8>,
}

impl Trickle<'_> {
    fn step(&mut self, most: usize) -> io::Result<usize> {
        match self.steps.pop_front() {
            None | Some(0) => Err(io::ErrorKind::WouldBlock.into()),
            Some(step) => Ok(step.min(most)),
        }
    }
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let there = if self.first > 0 { self.first } else { self.input.len() };
        let count = self.step(buffer.len().min(there))?;
        self.first = self.first.saturating_sub(count);
        let (read, rest) = self.input.split_at(count);
        buffer[..count].copy_from_slice(read);
        self.input = rest;
        Ok(count)
    }
}

impl Write for Trickle<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.step(bytes.len())?;
        self.output.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// No event loop watches it.
impl Source for Trickle<'_> {
    fn register(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        Ok(())
    }

    fn reregister(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        Ok(())
    }

    fn deregister(&mut self, _: &Registry) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a stream in pieces, whose lengths are in the first 32 bytes, in units of their own square. The frames are the
/// beginning of the stream, each is one element, and after the end there are no more. Received frames are sent on
/// through an outbox; the sent bytes are the frames that it took.
pub fn stream(bytes: &[u8]) {
    let (head, input) = bytes.split_at(bytes.len().min(32));
    let steps = |skip| head.iter().skip(skip).map(|&step| usize::from(step) * usize::from(step)).collect();
    let mut source = Trickle { steps: steps(0), input, first: 0, output: Vec::new() };
    let mut sink = Trickle { steps: steps(1), input: &[], first: 0, output: Vec::new() };
    let (mut reader, mut outbox) = (FrameReader::default(), Outbox::new(0));
    let (mut received, mut taken) = (Vec::new(), Vec::new());
    let budget = head.first().map_or(1, |&budget| usize::from(budget % 5) + 1);
    while !source.steps.is_empty() {
        let mut frames = 0;
        let result = reader.receive(&mut source, budget, &mut |frame| {
            frames += 1;
            assert_eq!(tlv::stream_frame_len(frame), Ok(Some(frame.len())));
            received.extend_from_slice(frame);
            let room = outbox.has_room(frame.len());
            match outbox.send(&mut sink, frame).expect("it blocks, and never fails") {
                Sent::Taken => taken.extend_from_slice(frame),
                Sent::Full => assert!(!room),
                Sent::TooLong => panic!("no frame that was received is"),
            }
            assert!(outbox.len() <= 2 * MAX_PACKET_SIZE);
        });
        assert!(frames <= budget);
        match result {
            Ok(Received::More) => assert_eq!(frames, budget),
            Ok(Received::Drained) => {}
            Err(error) => {
                assert!(matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof));
                break;
            }
        }
    }
    assert!(input.starts_with(&received));
    sink.steps = [usize::MAX; 4].into();
    assert_eq!(outbox.flush(&mut sink).ok(), Some(Flushed::Done));
    assert_eq!(sink.output, taken);
}

/// A browser's request.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

/// Reads a client's bytes at a WebSocket server, in pieces as in [`stream`]: from the handshake on, or after a valid
/// one if the first byte is even. Frames are not longer than packets, and come only after a handshake. Other bytes are
/// an error. Returns the number of frames.
pub fn websocket(bytes: &[u8]) -> usize {
    let (head, input) = bytes.split_at(bytes.len().min(32));
    let is_greeted = head.first().is_some_and(|first| first % 2 == 0);
    let input = [if is_greeted { REQUEST } else { &[] }, input].concat();
    let steps = head.iter().map(|&step| usize::from(step) * usize::from(step)).collect();
    let end = input.windows(4).position(|end| end == b"\r\n\r\n");
    let first = end.map_or(0, |end| end + 4);
    let socket = Trickle { steps, input: &input, first, output: Vec::new() };
    let has_upgrade = input.windows(7).any(|word| word.eq_ignore_ascii_case(b"upgrade"));
    let mut frames = 0;
    let mut each = |frame: &[u8]| {
        assert!(has_upgrade && frame.len() <= MAX_PACKET_SIZE);
        frames += 1;
    };
    if let Err(error) = websocket::echo(socket, 2 * head.len(), &mut each) {
        let kinds = [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof, io::ErrorKind::WouldBlock];
        assert!(kinds.contains(&error.kind()), "{error}");
    }
    frames
}

/// Reads a text as a face URI: one canonical form, or an error on one line.
pub fn face_uri(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match text.parse::<FaceUri>() {
        Ok(uri) => {
            let written = uri.to_string();
            assert_eq!(written.parse::<FaceUri>().as_ref(), Ok(&uri), "{written}");
            assert!(written.starts_with(uri.scheme()));
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control), "{error}"),
    }
}
