//! A face without a forwarder: an event loop around one transport or listener.

use std::io;
use std::time::Duration;

use mio::{Events, Poll, Token};
use weir_net::transport::{Flushed, Listener, Options, Peer, Received, Sent, Transport, connect};
use weir_net::uri::FaceUri;
use weir_packet::tlv;

/// Maximum time without progress before a test fails.
const PATIENCE: Duration = Duration::from_secs(5);

pub struct Side {
    pub transport: Box<dyn Transport>,
    poll: Poll,
    events: Events,
    /// Received frames.
    pub received: Vec<Vec<u8>>,
    /// Senders of the received frames.
    pub peers: Vec<Peer>,
    /// The error that ended the face.
    pub end: Option<io::Error>,
}

impl Side {
    pub fn new(mut transport: Box<dyn Transport>) -> Side {
        let poll = Poll::new().expect("epoll");
        transport.register(poll.registry(), Token(0)).expect("registered");
        let events = Events::with_capacity(8);
        Side { transport, poll, events, received: Vec::new(), peers: Vec::new(), end: None }
    }

    /// Waits for the socket and does the pending work. Returns whether there was any.
    pub fn step(&mut self, timeout: Duration) -> bool {
        self.poll.poll(&mut self.events, Some(timeout)).expect("epoll");
        let woken = !self.events.is_empty();
        if woken && self.end.is_none() {
            self.end = self.work().err();
        }
        woken
    }

    fn work(&mut self) -> io::Result<()> {
        self.transport.flush()?;
        let Side { received, peers, .. } = self;
        let mut each = |peer, frame: &[u8]| {
            peers.push(peer);
            received.push(frame.to_vec());
        };
        while self.transport.receive(7, &mut each)? == Received::More {}
        Ok(())
    }

    /// Waits until a condition holds.
    pub fn until(&mut self, what: &str, holds: impl Fn(&Side) -> bool) {
        while !holds(self) {
            assert!(self.step(PATIENCE), "{what}: nothing comes; the end: {:?}", self.end);
        }
    }

    pub fn until_received(&mut self, count: usize) {
        self.until("frames", |side| side.received.len() >= count || side.end.is_some());
        assert_eq!(self.received.len(), count, "{:?}", self.end);
    }

    /// Waits for more than `than` received frames.
    pub fn until_received_more(&mut self, than: usize) {
        self.until("a frame", |side| side.received.len() > than || side.end.is_some());
    }

    /// Waits for the end of the face.
    pub fn ended(&mut self) -> io::Error {
        self.until("the end", |side| side.end.is_some());
        self.end.take().expect("it ended")
    }

    /// Sends a frame at once.
    pub fn send(&mut self, frame: &[u8]) -> Sent {
        let sent = self.gather(frame);
        self.flush();
        sent
    }

    /// Queues a frame for the next flush.
    pub fn gather(&mut self, frame: &[u8]) -> Sent {
        self.transport.send(frame).expect("the face is there")
    }

    pub fn flush(&mut self) -> Flushed {
        self.transport.flush().expect("the face is there")
    }
}

/// A listener in an event loop.
pub struct Door {
    pub listener: Box<dyn Listener>,
    poll: Poll,
}

impl Door {
    pub fn new(listener: impl Listener + 'static) -> Door {
        let mut listener: Box<dyn Listener> = Box::new(listener);
        let poll = Poll::new().expect("epoll");
        listener.register(poll.registry(), Token(0)).expect("registered");
        Door { listener, poll }
    }

    /// Waits for the next peer.
    pub fn accept(&mut self) -> Side {
        let mut events = Events::with_capacity(8);
        loop {
            if let Some(transport) = self.listener.accept().expect("accepted") {
                return Side::new(transport);
            }
            self.poll.poll(&mut events, Some(PATIENCE)).expect("epoll");
            assert!(!events.is_empty(), "nobody comes");
        }
    }

    /// Both ends of a face to this listener.
    pub fn pair(&mut self) -> (Side, Side) {
        let mut client = dial(self.listener.uri()).expect("it listens");
        for _ in 0..5000 {
            if let Some(transport) = self.listener.accept().expect("accepted") {
                return (client, Side::new(transport));
            }
            client.step(Duration::from_millis(1));
        }
        panic!("nobody comes; the client: {:?}", client.end);
    }
}

/// The face URI as a value.
pub fn uri(text: &str) -> FaceUri {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Connects to a URI.
pub fn dial(remote: &str) -> io::Result<Side> {
    connect(&uri(remote), None, Options::default()).map(Side::new)
}

/// A frame with a number, `more` bytes longer than necessary.
pub fn frame(number: u32, more: usize) -> Vec<u8> {
    let mut value = number.to_be_bytes().to_vec();
    value.resize(4 + more, number as u8);
    let mut frame = Vec::new();
    tlv::put_element(&mut frame, 0x64, &value);
    frame
}

/// Sends ten thousand frames of all sizes in each direction and checks their order. At most `window` frames are in
/// flight.
pub fn exchange(a: &mut Side, b: &mut Side, largest: usize, window: usize) {
    const COUNT: u32 = 10_000;
    let frame = |number: u32| frame(number, (number as usize * 37) % (largest - 12));
    let (mut next_a, mut next_b) = (0, 0);
    while a.received.len() < COUNT as usize || b.received.len() < COUNT as usize {
        let arrived = [b.received.len(), a.received.len()];
        for ((side, next), arrived) in
            [(&mut *a, &mut next_a), (&mut *b, &mut next_b)].into_iter().zip(arrived)
        {
            let most = (arrived + window).min(COUNT as usize) as u32;
            while *next < most && side.gather(&frame(*next)) == Sent::Taken {
                *next += 1;
            }
            side.flush();
            side.step(Duration::from_millis(1));
            assert!(side.end.is_none(), "{:?}", side.end);
        }
    }
    for side in [a, b] {
        assert_eq!(side.received.len(), COUNT as usize);
        for (number, received) in side.received.iter().enumerate() {
            assert!(*received == frame(number as u32), "frame {number} is another");
        }
    }
}
