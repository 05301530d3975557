//! Packets that are dropped, each with its reason.

use weir_packet::NackReason;

use crate::packet::PacketId;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropReason {
    /// The queue of the link was full.
    QueueFull,
    /// The flow's own queue was full.
    FlowQueueFull,
    /// The queue of its service class was full.
    ClassQueueFull,
    /// A more urgent packet pushed it out.
    PushedOut,
    /// Active queue management dropped it: packets wait for too long.
    QueueManagement,
    /// It was queued for longer than its Interest lifetime, so nobody waits for its Data.
    Expired,
    /// The link lost it.
    LinkLoss,
    /// The link, or the face, is down.
    FaceDown,
    /// Its nonce was seen before: it loops.
    Loop,
    /// Its hop limit is used up.
    HopLimit,
    /// No Interest is pending for it that was sent by the face on which it arrived.
    Unsolicited,
    /// No route leads to its name.
    NoRoute,
    /// It is malformed: its name has no component, or too many.
    Malformed,
    /// Its name does not reach that far: `/localhost` from another host.
    Scope,
    /// The policy of the face on which it arrived refuses its service class.
    ClassRefused,
    /// It is beyond the rate that the face on which it arrived may have.
    ClassRate,
    /// A Data that came when the lifetime of its Interest was over.
    OutOfLifetime,
}

/// Where a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropPlace {
    /// At the queue of a link.
    Queue,
    /// On a link, or because the link or the face was down.
    Link,
    /// At a node, which refused it on arrival.
    Node,
}

impl DropPlace {
    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            DropPlace::Queue => "queue",
            DropPlace::Link => "link",
            DropPlace::Node => "node",
        }
    }
}

impl DropReason {
    /// Every reason.
    pub const ALL: [DropReason; 17] = [
        DropReason::QueueFull,
        DropReason::FlowQueueFull,
        DropReason::ClassQueueFull,
        DropReason::PushedOut,
        DropReason::QueueManagement,
        DropReason::Expired,
        DropReason::LinkLoss,
        DropReason::FaceDown,
        DropReason::Loop,
        DropReason::HopLimit,
        DropReason::Unsolicited,
        DropReason::NoRoute,
        DropReason::Malformed,
        DropReason::Scope,
        DropReason::ClassRefused,
        DropReason::ClassRate,
        DropReason::OutOfLifetime,
    ];

    /// Whether it was dropped on its way out, by the queue, the link or a failed face. Otherwise the node refused it
    /// on arrival; it may be a redundant copy.
    pub const fn is_loss(self) -> bool {
        !matches!(self.place(), DropPlace::Node)
    }

    /// Where it was dropped.
    pub const fn place(self) -> DropPlace {
        match self {
            DropReason::QueueFull
            | DropReason::FlowQueueFull
            | DropReason::ClassQueueFull
            | DropReason::PushedOut
            | DropReason::QueueManagement
            | DropReason::Expired => DropPlace::Queue,
            DropReason::LinkLoss | DropReason::FaceDown => DropPlace::Link,
            DropReason::Loop
            | DropReason::HopLimit
            | DropReason::Unsolicited
            | DropReason::NoRoute
            | DropReason::Malformed
            | DropReason::Scope
            | DropReason::ClassRefused
            | DropReason::ClassRate
            | DropReason::OutOfLifetime => DropPlace::Node,
        }
    }

    /// A few words for people.
    pub const fn words(self) -> &'static str {
        match self {
            DropReason::QueueFull => "link queue full",
            DropReason::FlowQueueFull => "flow queue full",
            DropReason::ClassQueueFull => "class queue full",
            DropReason::PushedOut => "pushed out by a more urgent packet",
            DropReason::QueueManagement => "dropped by queue management",
            DropReason::Expired => "queued beyond its Interest lifetime",
            DropReason::LinkLoss => "lost on the link",
            DropReason::FaceDown => "face down",
            DropReason::Loop => "loop",
            DropReason::HopLimit => "hop limit reached",
            DropReason::Unsolicited => "unsolicited Data",
            DropReason::NoRoute => "no route",
            DropReason::Malformed => "malformed",
            DropReason::Scope => "name out of scope",
            DropReason::ClassRefused => "service class refused",
            DropReason::ClassRate => "service class over its rate",
            DropReason::OutOfLifetime => "out of the lifetime",
        }
    }
}

/// A packet that a queue dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Dropped packets; the world counts and frees them.
    pub packet: PacketId,
    /// Why.
    pub reason: DropReason,
    /// For an Interest: tell its downstreams with a Nack.
    pub nack: Option<NackReason>,
}

/// The packets that a queue dropped in one call.
pub type Drops = Vec<Dropped>;
