//! Parses Interests for published objects.

use weir_packet::{Component, NameRef, component_type};

use crate::rdr::METADATA;

/// The requested part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The newest version.
    Newest,
    /// The metadata of this version, or of the newest one.
    Metadata(Option<u64>),
    /// A version, or one of its segments.
    Version(u64, Option<u64>),
}

/// Parses the part of a name after the publisher's prefix: the object's own name, and the requested part of it. Returns
/// `None` if no published object has such a name.
pub(super) fn read(suffix: NameRef<'_>) -> Option<(NameRef<'_>, Part)> {
    let is_generic = |component: &Component<'_>| component.typ == component_type::GENERIC;
    let own = suffix.components().take_while(is_generic).count();
    let mut rest = suffix.components().skip(own);
    let part = match rest.next() {
        None => Part::Newest,
        Some(METADATA) => match (rest.next(), rest.next()) {
            (None, _) => Part::Metadata(None),
            (Some(version), segment) if segment.is_none_or(|segment| segment.segment() == Some(0)) => {
                Part::Metadata(Some(number(version, component_type::VERSION)?))
            }
            _ => return None,
        },
        Some(version) => {
            let version = number(version, component_type::VERSION)?;
            let segment = rest.next().map(|segment| number(segment, component_type::SEGMENT).ok_or(()));
            Part::Version(version, segment.transpose().ok()?)
        }
    };
    rest.next().is_none().then(|| (suffix.prefix(own), part))
}

/// The number in a component, if it has this type and is encoded as a publisher encodes it.
fn number(component: Component<'_>, typ: u16) -> Option<u64> {
    let number = component.number_of_type(typ)?;
    (Component::number(typ, number, &mut [0; 8]) == component).then_some(number)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use weir_packet::Name;

    #[test]
    fn a_name_says_the_object_and_its_part() {
        for (uri, object, part) in [
            ("/", "/", Part::Newest),
            ("/a/b", "/a/b", Part::Newest),
            ("/a/32=metadata", "/a", Part::Metadata(None)),
            ("/32=metadata/v=7/seg=0", "/", Part::Metadata(Some(7))),
            ("/32=metadata/v=7", "/", Part::Metadata(Some(7))),
            ("/v=7", "/", Part::Version(7, None)),
            ("/a/v=7/seg=8", "/a", Part::Version(7, Some(8))),
            ("/v=18446744073709551615/seg=0", "/", Part::Version(u64::MAX, Some(0))),
        ] {
            let name: Name = uri.parse().unwrap();
            let (own, got) = read(name.view()).unwrap();
            assert_eq!((own.to_string().as_str(), got), (object, part), "{uri}");
        }
    }

    #[test]
    fn nothing_has_a_strange_name() {
        for uri in [
            "/seg=0",
            "/v=1/seg=1/x",
            "/v=1/x",
            "/v=1/seg=1/seg=2",
            "/32=other",
            "/32=metadata/seg=0",
            "/32=metadata/v=1/seg=1",
            "/32=metadata/v=1/seg=0/x",
            "/54=%00%01",
            "/v=1/50=%00%00",
            "/54=abc/seg=0",
            "/a/t=1",
        ] {
            let name: Name = uri.parse().unwrap();
            assert_eq!(read(name.view()), None, "{uri}");
        }
    }
}
