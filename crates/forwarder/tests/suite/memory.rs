//! Memory of a route: this allocator counts the bytes of each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::mock::{Mock, face};
use weir_core::ids::FaceId;
use weir_core::name::{HashedName, NameHasher};
use weir_core::tables::fib::Fib;
use weir_core::units::Time;
use weir_forwarder::control::Control;
use weir_forwarder::management::{Rib, Route};
use weir_management::RouteFlags;
use weir_management::status::FaceScope;
use weir_packet::Name;

struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

/// Size of an allocation: the GNU C library adds a word before it, and rounds up to a multiple of 16 bytes.
fn taken(size: usize) -> usize {
    (size + 8).next_multiple_of(16).max(32)
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

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// This many routes fill the tables' vectors, whose capacities double.
const ROUTES: usize = 1 << 17;

fn prefixes() -> impl Iterator<Item = Name> {
    (0..ROUTES).map(|n| format!("/example/site{n}/data").parse().unwrap())
}

/// The bytes that `make` allocates, for each route.
fn bytes<T>(make: impl FnOnce() -> T) -> (usize, T) {
    let before = ALLOCATED.get();
    let made = make();
    (ALLOCATED.get().wrapping_sub(before) / ROUTES, made)
}

/// With both tables, a million routes take 240 MB.
#[test]
fn a_route_takes_120_bytes_of_the_fib_and_130_of_the_rib() {
    let (fib, _) = bytes(|| {
        let mut fib = Fib::new();
        for prefix in prefixes() {
            fib.insert(&HashedName::parse(&NameHasher::new(7), prefix.value()).unwrap(), FaceId(2), 10);
        }
        fib
    });
    let mocked = || {
        let mut mock = Mock::new();
        mock.faces.insert(2, face(2, "udp4://10.0.0.2:6363", FaceScope::NonLocal));
        mock
    };
    let (of_mock, _) = bytes(|| {
        let mut mock = mocked();
        prefixes().for_each(|prefix| mock.add_next_hop(&prefix, 2, 10).unwrap());
        mock
    });
    let (of_both, _) = bytes(|| {
        let (mut mock, mut rib) = (mocked(), Rib::new(ROUTES));
        let flags = RouteFlags { child_inherit: true, capture: false };
        for prefix in prefixes() {
            let route = Route { prefix, face: 2, origin: 255, cost: 10, flags, expires: Time::NEVER };
            rib.add(&route, &mut mock).unwrap();
        }
        (mock, rib)
    });
    let rib = of_both - of_mock;
    println!("a route: {fib} B of the FIB, {rib} B of the RIB");
    assert!(fib <= 120 && rib <= 130, "{fib} and {rib} B");
}
