//! Dropped packets and the reasons.

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
    /// Active queue management dropped it, because packets waited too long.
    QueueManagement,
    /// It was queued for longer than its Interest lifetime, so its Data would be useless.
    Expired,
    /// The link lost it.
    LinkLoss,
    /// The link, or the face, is down.
    FaceDown,
    /// Its nonce was seen before: the Interest loops.
    Loop,
    /// Its hop limit is used up.
    HopLimit,
    /// No Interest for it is pending that was sent by the face on which it arrived.
    Unsolicited,
    /// No route leads to its name.
    NoRoute,
    /// It is malformed: its name has no component, or too many.
    Malformed,
    /// Its scope ends before this node: for example, `/localhost` from another host.
    Scope,
    /// The policy of the face on which it arrived refuses its service class.
    ClassRefused,
    /// It exceeds the rate of the face on which it arrived.
    ClassRate,
    /// The Data came after the lifetime of its Interest.
    OutOfLifetime,
}

/// The place where a packet was dropped.
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
    /// The name in documents.
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

    /// Returns whether it was dropped on its way out: by the queue, the link or a failed face. Otherwise the
    /// node refused it on arrival; it may be a redundant copy.
    pub const fn is_loss(self) -> bool {
        !matches!(self.place(), DropPlace::Node)
    }

    /// The place where such packets are dropped.
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

    /// A short description for people.
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
    /// The packet. The world counts and frees it.
    pub packet: PacketId,
    /// The reason.
    pub reason: DropReason,
    /// For an Interest: the reason of the Nack to send to its downstreams; `None`: no Nack.
    pub nack: Option<NackReason>,
}

/// The packets that a queue dropped in one call.
pub type Drops = Vec<Dropped>;
