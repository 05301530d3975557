//! Blocks of a capture in the pcapng format (IETF draft-ietf-opsawg-pcapng), for Wireshark and similar tools.
//!
//! Each frame is inside an Ethernet frame with NDN's EtherType 0x8624, whatever link carried it. Every tool opens this
//! form, and NDN's dissector for Wireshark accepts it without settings.
//!
//! ```text
//!   file:   Section Header, Interface Description, Packet, Packet, Interface Description, Packet, ...
//!   packet: interface, time in ns, Ethernet header, frame, direction
//! ```

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const LINKTYPE_ETHERNET: u16 = 1;

const OPT_END: u16 = 0;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;

/// 10⁻⁹ s.
const NANOSECONDS: u8 = 9;
const ETHERTYPE_NDN: u16 = 0x8624;

/// Appends the header of a file. `software` is the name of the writing program.
pub fn section(out: &mut Vec<u8>, software: &str) {
    block(out, SECTION_HEADER, |out| {
        put32(out, BYTE_ORDER_MAGIC);
        put16(out, 1);
        put16(out, 0);
        // The length of the section: unknown.
        out.extend_from_slice(&u64::MAX.to_le_bytes());
        option(out, SHB_USERAPPL, software.as_bytes());
        option(out, OPT_END, &[]);
    });
}

/// Appends the description of the next interface. Interfaces count from 0.
pub fn interface(out: &mut Vec<u8>, name: &str) {
    block(out, INTERFACE_DESCRIPTION, |out| {
        put16(out, LINKTYPE_ETHERNET);
        put16(out, 0);
        // The maximum length of a frame: no limit.
        put32(out, 0);
        option(out, IF_NAME, name.as_bytes());
        option(out, IF_TSRESOL, &[NANOSECONDS]);
        option(out, OPT_END, &[]);
    });
}

/// Appends a frame of an interface. `unix_ns` is the time in ns since 1970, `addresses` are those of the receiver and
/// the sender, and `direction` is 1 for received and 2 for sent.
pub fn frame(
    out: &mut Vec<u8>,
    interface: u32,
    unix_ns: u64,
    [to, from]: [[u8; 6]; 2],
    direction: u32,
    frame: &[u8],
) {
    packet(out, interface, unix_ns, direction, &[&to, &from, &ETHERTYPE_NDN.to_be_bytes(), frame]);
}

/// Appends a whole Ethernet frame of an interface. The other arguments are those of [`frame`].
pub fn ethernet(out: &mut Vec<u8>, interface: u32, unix_ns: u64, direction: u32, frame: &[u8]) {
    packet(out, interface, unix_ns, direction, &[frame]);
}

fn packet(out: &mut Vec<u8>, interface: u32, unix_ns: u64, direction: u32, parts: &[&[u8]]) {
    block(out, ENHANCED_PACKET, |out| {
        put32(out, interface);
        put32(out, (unix_ns >> 32) as u32);
        put32(out, unix_ns as u32);
        let length: usize = parts.iter().map(|part| part.len()).sum();
        put32(out, length as u32);
        put32(out, length as u32);
        parts.iter().for_each(|part| out.extend_from_slice(part));
        pad(out, length);
        option(out, EPB_FLAGS, &direction.to_le_bytes());
        option(out, OPT_END, &[]);
    });
}

/// Appends a block: its type, its length, its body, and its length again.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let from = out.len();
    put32(out, kind);
    put32(out, 0);
    body(out);
    let length = (out.len() - from + 4) as u32;
    out[from + 4..from + 8].copy_from_slice(&length.to_le_bytes());
    put32(out, length);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    // Only names can be longer than an option. They are cut.
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    put16(out, code);
    put16(out, value.len() as u16);
    out.extend_from_slice(value);
    pad(out, value.len());
}

/// Appends zeros after `length` bytes, up to a multiple of four.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&[0; 3][..length.next_multiple_of(4) - length]);
}

fn put16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}
