//! Frames in a byte stream: the common part of TCP and Unix sockets.
//!
//! A frame is one TLV element of at most [`MAX_PACKET_SIZE`] bytes, and there is nothing between frames. If the next
//! bytes are not a frame, the stream cannot be resynchronised, and the face ends.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::ops::Range;

use mio::{Registry, Token};
use weir_packet::{MAX_PACKET_SIZE, tlv};

use super::{Flushed, Options, Peer, Received, Sent, Transport, Uris, spare};
use crate::scope::FaceScope;
use crate::user::User;

/// Size of one read, bytes. Assumed: seven frames of the maximum length per system call.
const READ_SIZE: usize = 64 << 10;

thread_local! {
    /// The buffer for the next reader that has none. So thousands of silent connections need no buffers.
    static SPARE: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

/// Splits the bytes of a stream into frames.
#[derive(Debug, Default)]
pub struct FrameReader {
    /// The buffer, while it may contain whole frames.
    buffer: Option<Box<[u8]>>,
    /// The part of the buffer that has been read but not yet passed on.
    unread: Range<usize>,
    /// The beginning of an incomplete frame, while there is no buffer.
    begun: Vec<u8>,
}

impl FrameReader {
    /// Passes on at most `budget` frames, and reads until the socket has no more.
    ///
    /// # Errors
    /// Returns [`io::ErrorKind::UnexpectedEof`] if the peer closed the connection, [`io::ErrorKind::InvalidData`] if
    /// the bytes are not a frame, or the socket's error.
    pub fn receive(
        &mut self,
        socket: &mut impl Read,
        budget: usize,
        each: &mut dyn FnMut(&[u8]),
    ) -> io::Result<Received> {
        let mut buffer = self.take_buffer();
        let received = self.receive_into(&mut buffer, socket, budget, each);
        match received {
            Ok(Received::Drained) => {
                self.begun.extend_from_slice(&buffer[self.unread.clone()]);
                SPARE.set(Some(buffer));
            }
            Ok(Received::More) | Err(_) => self.buffer = Some(buffer),
        }
        received
    }

    /// Returns a buffer with the bytes that have been read but not yet passed on.
    fn take_buffer(&mut self) -> Box<[u8]> {
        if let Some(buffer) = self.buffer.take() {
            return buffer;
        }
        let mut buffer = SPARE.take().unwrap_or_else(|| vec![0; READ_SIZE].into());
        self.unread = 0..self.begun.len();
        buffer[self.unread.clone()].copy_from_slice(&self.begun);
        self.begun.clear();
        buffer
    }

    fn receive_into(
        &mut self,
        buffer: &mut [u8],
        socket: &mut impl Read,
        budget: usize,
        each: &mut dyn FnMut(&[u8]),
    ) -> io::Result<Received> {
        let mut left = budget;
        loop {
            while left > 0 {
                let Some(frame) = self.next(buffer)? else { break };
                each(frame);
                left -= 1;
            }
            if left == 0 {
                return Ok(Received::More);
            }
            match self.read(buffer, socket) {
                Ok(0) => return Err(closed()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Received::Drained),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The first complete frame.
    fn next<'a>(&mut self, buffer: &'a [u8]) -> io::Result<Option<&'a [u8]>> {
        let unread = &buffer[self.unread.clone()];
        let len = tlv::stream_frame_len(unread)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("invalid frame: {error}")))?;
        let Some(frame) = len.and_then(|len| unread.get(..len)) else { return Ok(None) };
        self.unread.start += frame.len();
        Ok(Some(frame))
    }

    /// Reads once, after the bytes in the buffer. There is room, because those bytes are less than a frame.
    fn read(&mut self, buffer: &mut [u8], socket: &mut impl Read) -> io::Result<usize> {
        buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let count = socket.read(&mut buffer[self.unread.end..])?;
        self.unread.end += count;
        Ok(count)
    }
}

/// The error for a connection that the peer has closed.
pub(super) fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the peer closed the connection")
}

/// Maximum number of gathered bytes: one system call then sends dozens of frames. No more than that is held back.
const GATHERED: usize = 64 << 10;

/// A bounded buffer of whole frames that wait for a socket.
#[derive(Debug)]
pub struct Outbox {
    bytes: VecDeque<u8>,
    limit: usize,
    /// Whether the socket accepted no more at the last write. It reports when it does again.
    is_blocked: bool,
}

impl Outbox {
    /// Creates a buffer for `limit` bytes, and for at least one frame.
    pub fn new(limit: usize) -> Outbox {
        Outbox { bytes: VecDeque::new(), limit: limit.max(2 * MAX_PACKET_SIZE), is_blocked: false }
    }

    /// Changes the limit, bytes. Waiting frames stay.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit.max(2 * MAX_PACKET_SIZE);
    }

    /// Number of waiting bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Memory of the buffer, bytes.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns whether this many more bytes fit.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.bytes.len() + bytes <= self.limit
    }

    /// Stores a whole frame, or nothing.
    pub fn push(&mut self, frame: &[u8]) -> Sent {
        if frame.len() > MAX_PACKET_SIZE {
            return Sent::TooLong;
        }
        if !self.has_room(frame.len()) {
            return Sent::Full;
        }
        self.append(frame);
        Sent::Taken
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.bytes.capacity() == 0 {
            self.bytes = spare::take().into();
        }
        // The buffer grows by an eighth, not to double its size, because unused memory counts too.
        if self.bytes.capacity() - self.bytes.len() < bytes.len() {
            self.bytes.reserve_exact(bytes.len().max(self.bytes.len() / 8));
        }
        self.bytes.extend(bytes);
    }

    /// Takes as many bytes as there is room for.
    ///
    /// # Errors
    /// Returns [`io::ErrorKind::WouldBlock`] if there is no room.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.limit.saturating_sub(self.bytes.len()));
        if taken == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.append(&bytes[..taken]);
        Ok(taken)
    }

    /// Takes a frame. It leaves with others at the next [`Outbox::flush`], or at once if many have gathered.
    ///
    /// # Errors
    /// Returns the socket's error.
    pub fn send(&mut self, socket: &mut impl Write, frame: &[u8]) -> io::Result<Sent> {
        self.make_room(socket, frame.len())?;
        Ok(self.push(frame))
    }

    /// Writes the waiting bytes if this many more would be too much to hold back.
    ///
    /// # Errors
    /// Returns the socket's error.
    pub fn make_room(&mut self, socket: &mut impl Write, bytes: usize) -> io::Result<()> {
        if self.bytes.len() + bytes > GATHERED.min(self.limit) && !self.is_blocked {
            self.flush(socket)?;
        }
        Ok(())
    }

    /// Writes the waiting bytes.
    ///
    /// # Errors
    /// Returns the socket's error.
    pub fn flush(&mut self, socket: &mut impl Write) -> io::Result<Flushed> {
        while !self.is_empty() {
            let (front, back) = self.bytes.as_slices();
            let written = write(socket, &[IoSlice::new(front), IoSlice::new(back)])?;
            self.is_blocked = written.is_none();
            let Some(written) = written else { return Ok(Flushed::Blocked) };
            self.bytes.drain(..written);
        }
        spare::give(std::mem::take(&mut self.bytes).into());
        Ok(Flushed::Done)
    }
}

/// Writes once. Returns `None` if the socket accepts no more.
fn write(socket: &mut impl Write, bytes: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
    loop {
        return match socket.write_vectored(bytes) {
            Ok(0) if bytes.iter().any(|bytes| !bytes.is_empty()) => Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => Ok(Some(written)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
    }
}

/// A stream socket.
pub trait StreamSocket: Read + Write {
    /// Registers the socket with the event loop: readable and writable, edge-triggered.
    ///
    /// # Errors
    /// Returns the operating system's error.
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()>;

    /// Returns whether the connection is established.
    ///
    /// # Errors
    /// Returns an error if connecting failed.
    fn is_connected(&self) -> io::Result<bool>;
}

/// A face on a stream socket.
#[derive(Debug)]
pub struct Stream<S> {
    socket: S,
    connected: bool,
    reader: FrameReader,
    outbox: Outbox,
    addresses: FaceAddresses,
    user: Option<User>,
}

/// The URIs of both ends of a face, and its scope.
#[derive(Clone, Debug)]
pub struct FaceAddresses {
    /// Face URI of the peer's end.
    pub remote: String,
    /// Face URI of this host's end.
    pub local: String,
    /// Whether the peer is on this host.
    pub scope: FaceScope,
}

impl FaceAddresses {
    /// The face URIs of both ends.
    pub fn uris(&self) -> Uris<'_> {
        Uris { remote: &self.remote, local: &self.local }
    }
}

impl<S: StreamSocket> Stream<S> {
    /// Creates a face on a socket that is connected or connecting.
    pub fn new(socket: S, connected: bool, options: Options, addresses: FaceAddresses) -> Stream<S> {
        let outbox = Outbox::new(options.buffer_for(addresses.scope));
        Stream { socket, connected, reader: FrameReader::default(), outbox, addresses, user: None }
    }

    /// Sets the local user at the other end.
    pub fn of_user(self, user: Option<User>) -> Stream<S> {
        Stream { user, ..self }
    }

    /// Checks whether the connection is established. Until then nothing is read or written.
    fn look(&mut self) -> io::Result<bool> {
        if !self.connected {
            let connected = self.socket.is_connected();
            self.connected = connected.map_err(|error| not_connected(&self.addresses.remote, &error))?;
        }
        Ok(self.connected)
    }
}

/// Adds the remote end to an error of connecting.
pub(super) fn not_connected(remote: &str, error: &io::Error) -> io::Error {
    let hint = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => ": nothing listens there",
        io::ErrorKind::PermissionDenied => ": no permission",
        _ => "",
    };
    io::Error::new(error.kind(), format!("cannot connect to {remote}{hint} ({error})"))
}

impl<S: StreamSocket> Transport for Stream<S> {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        self.socket.register(registry, token)
    }

    fn receive(&mut self, budget: usize, each: &mut dyn FnMut(Peer, &[u8])) -> io::Result<Received> {
        if !self.look()? {
            return Ok(Received::Drained);
        }
        self.reader.receive(&mut self.socket, budget, &mut |frame| each(0, frame))
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<Sent> {
        if !self.look()? {
            return Ok(self.outbox.push(frame));
        }
        self.outbox.send(&mut self.socket, frame)
    }

    fn flush(&mut self) -> io::Result<Flushed> {
        if !self.look()? {
            return Ok(Flushed::Blocked);
        }
        self.outbox.flush(&mut self.socket)
    }

    fn is_connected(&self) -> bool {
        self.connected
    }

    fn waiting(&self) -> usize {
        self.outbox.len()
    }

    fn memory(&self) -> usize {
        self.outbox.memory()
    }

    fn mtu(&self) -> Option<usize> {
        None
    }

    fn uris(&self) -> Uris<'_> {
        self.addresses.uris()
    }

    fn scope(&self) -> FaceScope {
        self.addresses.scope
    }

    fn user(&self) -> Option<User> {
        self.user
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A socket that follows a script: it reads or writes so many bytes, then would block.
    #[derive(Default)]
    struct Scripted {
        input: Vec<u8>,
        output: Vec<u8>,
        /// Number of bytes for each call; 0: the call would block. If empty, calls are not limited.
        steps: VecDeque<usize>,
        closed: bool,
    }

    impl Scripted {
        fn step(&mut self, most: usize) -> io::Result<usize> {
            match self.steps.pop_front() {
                Some(0) => Err(io::ErrorKind::WouldBlock.into()),
                Some(step) => Ok(step.min(most)),
                None => Ok(most),
            }
        }
    }

    impl Read for Scripted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.input.is_empty() && !self.closed {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = self.step(buffer.len().min(self.input.len()))?;
            buffer[..count].copy_from_slice(&self.input[..count]);
            self.input.drain(..count);
            Ok(count)
        }
    }

    impl Write for Scripted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = self.step(bytes.len())?;
            self.output.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A frame with a value of this many bytes.
    fn frame(len: usize, fill: u8) -> Vec<u8> {
        let mut frame = Vec::new();
        tlv::put_element(&mut frame, 0x64, &vec![fill; len]);
        frame
    }

    fn frames() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let len = prop_oneof![0..40usize, 200..300usize, 8700..=8796usize];
        proptest::collection::vec((len, any::<u8>()).prop_map(|(len, fill)| frame(len, fill)), 0..40)
    }

    fn steps() -> impl Strategy<Value = VecDeque<usize>> {
        proptest::collection::vec(prop_oneof![Just(0), Just(1), 0..20usize, 0..20_000usize], 0..200)
            .prop_map(VecDeque::from)
    }

    proptest! {
        #[test]
        fn frames_are_those_that_were_sent_however_they_are_cut(
            sent in frames(),
            steps in steps(),
            budget in 1..9usize,
        ) {
            let mut socket = Scripted { input: sent.concat(), steps, closed: true, ..Scripted::default() };
            let mut reader = FrameReader::default();
            let mut received = Vec::new();
            let end = loop {
                let before = received.len();
                let result = reader.receive(&mut socket, budget, &mut |frame| received.push(frame.to_vec()));
                prop_assert!(received.len() - before <= budget);
                match result {
                    Ok(Received::More) => prop_assert_eq!(received.len() - before, budget),
                    Ok(Received::Drained) => {}
                    Err(error) => break error,
                }
            };
            prop_assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
            prop_assert_eq!(received, sent);
        }

        #[test]
        fn what_leaves_are_whole_frames_in_order(sent in frames(), steps in steps(), limit in 0..100_000usize) {
            let mut socket = Scripted { steps, ..Scripted::default() };
            let mut outbox = Outbox::new(limit);
            let mut taken = Vec::new();
            for frame in &sent {
                match outbox.send(&mut socket, frame).expect("no error in the script") {
                    Sent::Taken => taken.extend_from_slice(frame),
                    Sent::Full => prop_assert!(outbox.len() + frame.len() > limit.max(2 * MAX_PACKET_SIZE)),
                    Sent::TooLong => prop_assert!(false, "none is"),
                }
                prop_assert!(outbox.len() <= limit.max(2 * MAX_PACKET_SIZE));
                if frame.len() % 3 == 0 {
                    let flushed = outbox.flush(&mut socket).expect("no error in the script");
                    prop_assert_eq!(flushed == Flushed::Done, outbox.is_empty());
                }
            }
            while outbox.flush(&mut socket).expect("no error in the script") == Flushed::Blocked {}
            prop_assert_eq!(socket.output, taken);
        }

        #[test]
        fn any_bytes_are_frames_or_the_end(bytes: Vec<u8>, steps in steps()) {
            let mut socket = Scripted { input: bytes.clone(), steps, closed: true, ..Scripted::default() };
            let mut reader = FrameReader::default();
            let mut received = Vec::new();
            while reader.receive(&mut socket, 3, &mut |frame| received.extend_from_slice(frame)).is_ok() {}
            prop_assert!(bytes.starts_with(&received));
        }
    }

    /// Two readers take turns, and each keeps its incomplete frame.
    #[test]
    fn silent_readers_have_no_buffer_and_keep_what_has_begun() {
        let sent = [frame(5000, 1), frame(6000, 2)];
        let mut readers = [FrameReader::default(), FrameReader::default()];
        let mut received = [Vec::new(), Vec::new()];
        for half in 0..2 {
            for (at, reader) in readers.iter_mut().enumerate() {
                let cut = 100 * (at + 1);
                let input = if half == 0 { sent[at][..cut].to_vec() } else { sent[at][cut..].to_vec() };
                let mut socket = Scripted { input, ..Scripted::default() };
                let end = reader.receive(&mut socket, 9, &mut |frame| received[at].extend_from_slice(frame));
                assert_eq!(end.expect("no error"), Received::Drained);
                assert!(reader.buffer.is_none() && reader.begun.capacity() < 8800);
            }
        }
        assert_eq!(received, sent);
    }

    #[test]
    fn a_frame_longer_than_any_packet_ends_the_stream_before_it_is_there() {
        let head = [6, 0xFD, 0x22, 0x5D];
        let mut socket = Scripted { input: [frame(3, 1), head.to_vec()].concat(), ..Scripted::default() };
        let mut reader = FrameReader::default();
        let mut count = 0;
        for _ in 0..2 {
            let result = reader.receive(&mut socket, 9, &mut |_| count += 1);
            assert_eq!(result.expect_err("too large").kind(), io::ErrorKind::InvalidData);
        }
        assert_eq!(count, 1, "the frame before it is handed in, once");
    }

    #[test]
    fn memory_of_a_backlog_is_given_back() {
        let mut outbox = Outbox::new(1 << 20);
        let sent = frame(8000, 1);
        while outbox.push(&sent) == Sent::Taken {}
        assert!((1_000_000..1_200_000).contains(&outbox.memory()), "{}", outbox.memory());
        assert_eq!(outbox.flush(&mut Scripted::default()).expect("it takes all"), Flushed::Done);
        assert_eq!(outbox.memory(), 0, "an idle connection has none");
    }

    #[test]
    fn a_frame_that_is_too_long_is_not_sent() {
        let mut outbox = Outbox::new(0);
        let mut socket = Scripted::default();
        let sent = outbox.send(&mut socket, &[0; MAX_PACKET_SIZE + 1]).expect("no error");
        assert_eq!((sent, socket.output.len(), outbox.len()), (Sent::TooLong, 0, 0));
    }

    #[test]
    fn a_socket_that_takes_nothing_is_an_error_and_no_endless_loop() {
        struct Shut;
        impl Write for Shut {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Ok(0)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut outbox = Outbox::new(0);
        assert_eq!(outbox.push(&[5, 0]), Sent::Taken);
        let error = outbox.flush(&mut Shut).expect_err("nothing is taken");
        assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    }
}
