//! The memory that tables report is the memory that they use: this allocator counts bytes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bytes::Bytes;
use weir_core::ids::{FaceId, GroupId};
use weir_core::link::Link;
use weir_core::name::{HashedName, MAX_COMPONENTS, NameHasher, TYPE_GENERIC};
use weir_core::node::testing::Told;
use weir_core::node::{Action, Input, Node, NodeConfig, TableLimits};
use weir_core::packet::{Kind, PacketId, PacketPool};
use weir_core::random::Random;
use weir_core::seam::{
    Backlog, BestRoute, ClearEvent, DequeueEvent, DropTail, EnqueueEvent, Next, Queue, QueueLimit,
};
use weir_core::tables::cs::{ContentStore, CsPolicy};
use weir_core::tables::flow_prefix::FlowPrefix;
use weir_core::units::{Rate, Span, Time};

struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

/// The count wraps around if one thread allocates and another frees.
fn count(more: usize, less: usize) {
    let _ = ALLOCATED.try_with(|all| all.set(all.get().wrapping_add(more).wrapping_sub(less)));
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait; all of it is the system's")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(taken(layout.size()), 0);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, taken(layout.size()));
        // SAFETY: `pointer` came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(taken(size), taken(layout.size()));
        // SAFETY: `pointer` came from `System` with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The memory of an allocation: in the GNU C library it has a word before it and is a multiple of 16 bytes.
fn taken(size: usize) -> usize {
    (size + 8).next_multiple_of(16).max(32)
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const HASHER: NameHasher = NameHasher::new(7);

/// A node with two neighbours that request, and one that answers everything or nothing.
struct Bench {
    node: Node,
    pool: PacketPool,
    actions: Vec<Action>,
    now: Time,
    asking: [FaceId; 2],
    up: FaceId,
    can_be_prefix: bool,
    before: usize,
}

fn config() -> NodeConfig {
    NodeConfig::new(Box::new(BestRoute::default()), HASHER, Random::named(1, "node"))
}

impl Bench {
    fn new(pit_bytes: u64, store_bytes: u64) -> Bench {
        Bench::with(pit_bytes, ContentStore::new(CsPolicy::Lru, 1 << 20, store_bytes))
    }

    fn with(pit_bytes: u64, content_store: ContentStore<PacketId>) -> Bench {
        let before = ALLOCATED.get();
        let limits = TableLimits { pit_bytes, dead_nonces: 1000, ..TableLimits::default() };
        let mut node = Node::new(NodeConfig { limits, content_store, ..config() });
        let [first, second, up] = [(); 3].map(|()| {
            let queue = Box::new(DropTail::new(QueueLimit::Packets(10)));
            node.add_link(Time::ZERO, Link::new(queue, None, Random::named(1, "face")))
        });
        node.add_route(&HashedName::new(), up, 0);
        let (pool, actions, now) = (PacketPool::new(), Vec::new(), Time::from_nanos(1));
        Bench { node, pool, actions, now, asking: [first, second], up, can_be_prefix: false, before }
    }

    fn packet(&mut self, face: FaceId, kind: Kind, name: &HashedName, nonce: u32, length: usize) {
        let packet = self.pool.take();
        let fields = &mut self.pool[packet];
        fields.kind = kind;
        fields.name.assign(name);
        fields.nonce = nonce;
        fields.can_be_prefix = self.can_be_prefix;
        fields.lifetime = Span::from_secs(300);
        fields.freshness = Span::from_secs(300);
        fields.wire = Bytes::from(vec![1; name.wire().len() + length]);
        fields.net_len = fields.wire.len() as u32;
        self.now += Span::from_nanos(1000);
        self.node.handle(self.now, Input::Packet { face, packet }, &mut self.pool, &mut self.actions);
        for action in self.actions.drain(..) {
            let (Action::Transmit { packet, .. }
            | Action::Deliver { packet, .. }
            | Action::Drop { packet, .. }) = action;
            self.pool.free(packet);
        }
    }

    fn ask(&mut self, name: &HashedName, nonce: u32) {
        let face = self.asking[nonce as usize % 2];
        self.packet(face, Kind::Interest, name, nonce, 20);
    }

    fn exchange(&mut self, name: &HashedName, nonce: u32, length: usize) {
        self.ask(name, nonce);
        self.packet(self.up, Kind::Data, name, 0, length);
    }

    fn taken(&self) -> usize {
        ALLOCATED.get().wrapping_sub(self.before)
    }

    #[track_caller]
    fn check(&self, bound: u64, what: &str) {
        let share = self.taken() as f64 / bound as f64;
        eprintln!("{what}: {} bytes, {share:.2} of the bound", self.taken());
        assert!((0.2..=1.25).contains(&share), "{what}: {share} of the bound");
    }
}

/// The `n`th of many names with this many components, all empty except the last two.
fn name(n: u32, components: usize, last: usize) -> HashedName {
    let mut name = HashedName::new();
    for _ in 2..components {
        name.push(&HASHER, TYPE_GENERIC, b"").unwrap();
    }
    name.push(&HASHER, TYPE_GENERIC, &n.to_be_bytes()).unwrap();
    name.push(&HASHER, TYPE_GENERIC, &vec![7; last]).unwrap();
    name
}

/// Names with a digest also have a count beside the table.
fn with_digest(n: u32) -> HashedName {
    let mut name = HashedName::new();
    name.push(&HASHER, TYPE_GENERIC, &n.to_be_bytes()[1..]).unwrap();
    name.push(&HASHER, 1, &[5; 32]).unwrap();
    name
}

#[test]
fn a_flooded_pit_takes_what_its_bound_says_whatever_the_names() {
    const BOUND: u64 = 16_000_000;
    type Names = fn(u32) -> HashedName;
    let kinds: [(&str, Names); 6] = [
        ("short names", |n| name(n, 3, 3)),
        ("digests", with_digest),
        ("names that just do not fit", |n| name(n, 5, 1)),
        ("50 components", |n| name(n, 50, 1)),
        ("8 kB", |n| name(n, 3, 8000)),
        ("1 kB", |n| name(n, 3, 1000)),
    ];
    // All kinds in one table, in both orders: a flood must not add to the memory that another one has left.
    for turned in [false, true] {
        let mut bench = Bench::new(BOUND, 0);
        let mut nonce = 0;
        for step in 0..kinds.len() {
            let (what, names) = kinds[if turned { kinds.len() - 1 - step } else { step }];
            for n in 0..30_000 {
                nonce += 1;
                bench.ask(&names(n), nonce);
                // The same Interest from the other face: one more in-record.
                if n % 3 == 0 {
                    bench.ask(&names(n), nonce + 1_000_001);
                }
            }
            bench.check(BOUND, what);
        }
    }
}

#[test]
fn a_content_store_takes_what_its_bound_says_whatever_the_data() {
    const BOUND: u64 = 16_000_000;
    let tiny = [("tiny, 50 components", 50, 1, 10), ("tiny", 3, 1, 10)];
    let large = [("8 kB", 3, 1, 8000), ("long names", 3, 4000, 10)];
    // Each uses the buffers of the previous ones, which are a little longer.
    let shrinking = [("8.5 kB", 3, 1, 8500), ("8.4 kB", 3, 1, 8400), ("8 kB", 3, 1, 8002)];
    let mixed = [("8.5 kB", 3, 1, 8500), ("8 kB", 3, 1, 8002), ("4 kB and long names", 3, 4000, 3990)];
    let orders = [
        [&tiny[..], &large].concat(),
        [&tiny[..], &large].concat().into_iter().rev().collect(),
        [&tiny[..], &large[1..], &shrinking].concat(),
        [&tiny[..], &mixed].concat(),
    ];
    for kinds in orders {
        // As in the forwarder: places take at most a fifth.
        let mut bench = Bench::new(1_000_000, BOUND);
        let most = BOUND as usize
            / 5
            / (size_of::<weir_core::packet::Packet>() + weir_core::tables::cs::ENTRY_BYTES);
        bench.node.set_content_store_limits(most, BOUND, &mut bench.pool);
        let mut nonce = 0;
        for (step, (what, components, last, length)) in kinds.into_iter().enumerate() {
            for n in 0..12_000 {
                nonce += 1;
                bench.exchange(&name(100_000 * step as u32 + n, components, last), nonce, length);
            }
            // Interests for prefixes make the store index them.
            for len in 1..50 {
                let mut prefix = name(0, components, last);
                prefix.truncate(len);
                bench.can_be_prefix = true;
                nonce += 1;
                bench.ask(&prefix, nonce);
                bench.can_be_prefix = false;
            }
            bench.check(BOUND, what);
        }
    }
}

#[test]
fn what_a_policy_remembers_is_part_of_the_bound_too() {
    const BOUND: u64 = 4_000_000;
    for (policy, _) in CsPolicy::ALL {
        let place = size_of::<weir_core::packet::Packet>()
            + weir_core::tables::cs::ENTRY_BYTES
            + policy.entry_bytes();
        let mut bench = Bench::with(1_000_000, ContentStore::new(policy, BOUND as usize / 5 / place, BOUND));
        for n in 0..14_000 {
            bench.exchange(&name(n, 3, 1), n + 1, 10);
        }
        let share = bench.taken() as f64 / BOUND as f64;
        eprintln!("{}: {share:.2} of the bound", policy.name());
        assert!(share <= 1.25, "{}: {share} of the bound", policy.name());
    }
}

/// Blocks from which the bytes of many packets are cut, as in the forwarder.
#[derive(Default)]
struct Blocks(bytes::BytesMut);

impl Blocks {
    fn cut(&mut self, len: usize) -> Bytes {
        if self.0.capacity() < len {
            self.0 = bytes::BytesMut::with_capacity(65_536.max(len));
        }
        self.0.resize(len, 1);
        self.0.split().freeze()
    }
}

/// A node whose links are all blocked except the last one.
struct Stuck {
    node: Node,
    links: Vec<FaceId>,
    pool: PacketPool,
    blocks: Blocks,
    now: Time,
    nonce: u32,
}

const STUCK: usize = 39;

impl Stuck {
    fn new(queue_bytes: u64) -> Stuck {
        let limits =
            TableLimits { pit_bytes: 200_000, dead_nonces: 1000, queue_bytes, ..TableLimits::default() };
        let mut node = Node::new(NodeConfig { limits, ..config() });
        let links: Vec<FaceId> = (0..=STUCK)
            .map(|_| {
                let queue = Box::new(DropTail::new(QueueLimit::Packets(1_000_000)));
                node.add_link(Time::ZERO, Link::new(queue, None, Random::named(1, "face")))
            })
            .collect();
        links.iter().for_each(|&face| node.add_route(&under(face), face, 0));
        let (pool, blocks) = (PacketPool::new(), Blocks::default());
        Stuck { node, links, pool, blocks, now: Time::from_nanos(1), nonce: 0 }
    }

    fn set_rates(&mut self, rate: Option<Rate>) {
        for &face in &self.links[..STUCK] {
            self.node.set_link_rate(self.now, face, rate);
        }
    }

    fn handle(&mut self, input: Input) {
        let mut actions = Vec::new();
        self.now += Span::from_nanos(1000);
        self.node.handle(self.now, input, &mut self.pool, &mut actions);
        for action in actions {
            let (Action::Transmit { packet, .. }
            | Action::Deliver { packet, .. }
            | Action::Drop { packet, .. }) = action;
            self.pool.free(packet);
        }
    }

    /// Sends an Interest by a link. Its hint has this many delegations, with the most expensive names for
    /// their length.
    fn ask(&mut self, link: usize, components: usize, last: usize, length: usize, delegations: usize) {
        let packet = self.pool.take();
        self.nonce += 1;
        let mut name = under(self.links[link]);
        for _ in 1..components - 1 {
            name.push(&HASHER, TYPE_GENERIC, b"").unwrap();
        }
        name.push(&HASHER, TYPE_GENERIC, &[&self.nonce.to_be_bytes()[..], &vec![7; last]].concat()).unwrap();
        let fields = &mut self.pool[packet];
        fields.name = name;
        fields.nonce = self.nonce;
        fields.lifetime = Span::from_secs(1);
        fields.wire = self.blocks.cut(fields.name.wire().len() + length);
        fields.net_len = fields.wire.len() as u32;
        if delegations > 0 {
            let wire = [under(self.links[link]).wire(), &[TYPE_GENERIC as u8, 0].repeat(MAX_COMPONENTS - 1)]
                .concat();
            let delegation = |_| HashedName::parse(&HASHER, &wire).unwrap();
            fields.hint = Some((0..delegations).map(delegation).collect());
        }
        let face = self.links[usize::from(link == 0)];
        self.handle(Input::Packet { face, packet });
    }
}

/// The names that are routed to a link.
fn under(link: FaceId) -> HashedName {
    let mut name = HashedName::new();
    name.push(&HASHER, TYPE_GENERIC, &link.0.to_be_bytes()).unwrap();
    name
}

#[test]
fn queues_take_what_their_bound_says_whatever_waits_in_them() {
    const BOUND: u64 = 16_000_000;
    // The number of packets that pass for one that waits: then it is alone in its block.
    let kinds = [
        ("tiny", 3, 1, 10, 0, 0),
        ("8 kB", 3, 1, 8000, 0, 0),
        ("50 components", 50, 1, 10, 0, 0),
        ("hints", 3, 1, 1100, 0, 8),
        ("short hints", 3, 1, 150, 0, 1),
        ("tiny, alone", 3, 1, 10, 9, 0),
        ("1 kB, alone", 3, 1, 1000, 9, 0),
    ];
    for turned in [false, true] {
        let before = ALLOCATED.get();
        let mut stuck = Stuck::new(BOUND);
        for step in 0..kinds.len() {
            let (what, components, last, length, others, delegations) =
                kinds[if turned { kinds.len() - 1 - step } else { step }];
            stuck.set_rates(Some(Rate::ZERO));
            for n in 0..12_000 {
                stuck.ask(n % STUCK, components, last, length, delegations);
                (0..others).for_each(|_| stuck.ask(STUCK, 3, 1, 7000, 0));
            }
            let taken = ALLOCATED.get() - before;
            let (share, queued) = (taken as f64 / BOUND as f64, stuck.node.queued_bytes());
            eprintln!("{what}: {taken} bytes, {share:.2} of the bound; {queued} are counted");
            assert!(share <= 1.25, "{what}: {share} of the bound");
            assert!((BOUND / 2..=BOUND).contains(&queued), "{what}: {queued}");
            // Empty the queues for the next kind.
            stuck.set_rates(None);
            stuck.handle(Input::Deadline);
            assert_eq!(stuck.node.queued_bytes(), 0, "{what}");
        }
    }
}

/// Reports that it keeps state of each prefix.
struct Keeps(DropTail);

impl Queue for Keeps {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        ev.keeps_prefix = true;
        self.0.enqueue(ev, packet);
    }
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        self.0.dequeue(ev)
    }
    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.0.clear(ev);
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

#[test]
fn prefixes_of_flows_take_what_their_bound_says_whatever_their_names() {
    const BOUND: u64 = 8_000_000;
    for is_grouped in [false, true] {
        let limits =
            TableLimits { pit_bytes: 100_000, dead_nonces: 100, flow_bytes: BOUND, ..TableLimits::default() };
        let flow_prefix = FlowPrefix::Components(64);
        let mut node = Node::new(NodeConfig { limits, flow_prefix, ..config() });
        let faces: Vec<FaceId> = (0..50)
            .map(|_| {
                let queue = Box::new(Keeps(DropTail::new(QueueLimit::Packets(10))));
                node.add_link(Time::ZERO, Link::new(queue, None, Random::named(1, "face")))
            })
            .collect();
        if is_grouped {
            faces.iter().for_each(|&face| node.set_group(face, GroupId(face.0 as u16 + 1)));
        }
        node.add_route(&HashedName::new(), faces[0], 0);
        let before = ALLOCATED.get();
        let (mut pool, mut actions, mut now) = (PacketPool::new(), Vec::new(), Time::from_nanos(1));
        for (what, components, last) in
            [("short", 3, 1), ("8 kB", 3, 8000), ("50 components", 50, 1), ("300 B", 3, 300)]
        {
            for n in 0..20_000 {
                let packet = pool.take();
                let mut name = name(n, components, last);
                name.push(&HASHER, TYPE_GENERIC, b"0").unwrap();
                pool[packet].name = name;
                pool[packet].nonce = n;
                now += Span::from_nanos(1000);
                let face = faces[1 + n as usize % 49];
                node.handle(now, Input::Packet { face, packet }, &mut pool, &mut actions);
                for action in actions.drain(..) {
                    let (Action::Transmit { packet, .. }
                    | Action::Deliver { packet, .. }
                    | Action::Drop { packet, .. }) = action;
                    pool.free(packet);
                }
            }
            let share = (ALLOCATED.get() - before) as f64 / BOUND as f64;
            eprintln!("{what}, in groups: {is_grouped}: {share:.2} of the bound");
            // A prefix with a short name is charged as five: 0.1, if all memory that a place may need is
            // used.
            assert!(
                (0.08..=0.625).contains(&share),
                "{what}: {share} of the bound, of which half is for these"
            );
        }
    }
}
