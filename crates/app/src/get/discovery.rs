//! Discovery of the object for a name: its version, and its last segment if the metadata contain it.
//!
//! ```text
//!   a name with a version ---------------------------------------------> as it is
//!   /object --- /object/32=metadata ---- Data ----> what the metadata say
//!                        |
//!                        +-- no answer --- /object (CanBePrefix) --- Data ----> by its name
//! ```
//!
//! Any producer with a name under the prefix may answer the last Interest, so only Data of the object itself are
//! accepted. A content store may answer it with an older version, so the metadata are requested more than once before.

use weir_packet::{ContentType, Data, Name};

use super::requester::Requester;
use super::{GetError, Object};
use crate::SingleInterest;
use crate::rdr::{Metadata, metadata_name};

/// Number of Interests for the metadata before any Data of the object is accepted.
const METADATA_FIRST: u32 = 2;

/// Finds the object for a name.
pub(super) fn find(name: &Name, requester: &mut Requester<'_, '_>) -> Result<Object, GetError> {
    if name.view().last().is_some_and(|last| last.version().is_some()) {
        return Ok(Object::named(name.clone()));
    }
    let metadata = newest(requester.interest(metadata_name(name)));
    let any = newest(requester.interest(name.clone()));
    let mut tries = requester.tries(name);
    loop {
        if let Some(wire) = requester.again(&mut tries, &metadata, &mut |_, _| {})? {
            return described(name, &requester.verify(&metadata, wire)?);
        }
        if tries.count >= METADATA_FIRST
            && let Some(wire) = requester.again(&mut tries, &any, &mut |_, _| {})?
            && is_of(name, &wire)
        {
            let wire = requester.verify(&any, wire)?;
            // Another producer's Data may have arrived instead.
            if is_of(name, &wire) {
                return named(wire, name);
            }
        }
    }
}

/// An Interest for the newest Data with this prefix.
fn newest(interest: SingleInterest) -> SingleInterest {
    SingleInterest { can_be_prefix: true, must_be_fresh: true, ..interest }
}

/// The object that the metadata describe.
fn described(name: &Name, wire: &[u8]) -> Result<Object, GetError> {
    let wrong = |error| GetError::Metadata(name.clone(), error);
    let data = Data::decode(wire).map_err(wrong)?;
    if data.meta.content_type == Some(ContentType::Nack) {
        return Err(GetError::Absent(data.name.to_name()));
    }
    let Metadata { versioned, last_segment } = Metadata::decode(data.payload()).map_err(wrong)?;
    if !versioned.view().starts_with(name.view()) {
        return Err(GetError::Elsewhere(name.clone(), versioned));
    }
    Ok(Object { name: versioned, last_segment, whole: None })
}

/// Returns whether a Data belongs to the requested object: after the object's name, its name has a version, a segment,
/// both or nothing.
fn is_of(asked: &Name, wire: &[u8]) -> bool {
    let Ok(data) = Data::decode(wire) else { return false };
    let mut more = data.name.components().skip(asked.view().len()).peekable();
    let _ = more.next_if(|next| next.version().is_some());
    let _ = more.next_if(|next| next.segment().is_some());
    data.name.starts_with(asked.view()) && more.next().is_none()
}

/// The object of such a Data: this is one of its segments, or the whole object.
fn named(wire: Vec<u8>, asked: &Name) -> Result<Object, GetError> {
    let data = Data::decode(&wire).map_err(|error| GetError::Metadata(asked.clone(), error))?;
    if data.meta.content_type == Some(ContentType::Nack) {
        return Err(GetError::Absent(data.name.to_name()));
    }
    let is_segment = data.name.last().is_some_and(|last| last.segment().is_some());
    if is_segment && data.name.len() > asked.view().len() {
        return Ok(Object::named(data.name.parent().to_name()));
    }
    let whole = Some((data.payload().to_vec(), data.signature.info.typ));
    Ok(Object { name: data.name.to_name(), last_segment: None, whole })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weir_packet::{MetaInfo, SignatureInfo, SignatureType};

    fn data(name: &str, content: &[u8], content_type: Option<ContentType>) -> Vec<u8> {
        let name: Name = name.parse().unwrap();
        let meta = MetaInfo { content_type, ..MetaInfo::NONE };
        Data { meta, ..Data::new(name.view(), content, SignatureInfo::new(SignatureType::Null)) }.to_vec()
    }

    #[test]
    fn a_data_tells_the_object_by_its_name() {
        let asked: Name = "/a".parse().unwrap();
        for (of, object) in [("/a/v=7/seg=3", "/a/v=7"), ("/a/seg=3", "/a")] {
            let data = data(of, b"x", None);
            assert!(is_of(&asked, &data), "{of}");
            assert_eq!(named(data, &asked).unwrap(), Object::named(object.parse().unwrap()));
        }
        for whole in ["/a/v=7", "/a"] {
            let data = data(whole, b"x", None);
            assert!(is_of(&asked, &data), "{whole}");
            let object = named(data, &asked).unwrap();
            assert_eq!(object.name.to_string(), whole);
            assert_eq!(object.whole, Some((b"x".to_vec(), SignatureType::Null)));
        }
        let asked: Name = "/a/seg=3".parse().unwrap();
        let data = data("/a/seg=3", b"x", None);
        assert!(
            is_of(&asked, &data) && named(data, &asked).unwrap().whole.is_some(),
            "it was asked for itself"
        );
    }

    #[test]
    fn what_is_of_another_object_below_is_not_taken() {
        let asked: Name = "/a".parse().unwrap();
        for of in [
            "/a/b.mp4/v=7/seg=3",
            "/a/b",
            "/a/seg=3/v=7",
            "/a/v=7/seg=3/b",
            "/a/v=7/v=8",
            "/a/32=metadata/v=7/seg=0",
            "/a/KEY/%01/self/v=7",
            "/b/v=7/seg=3",
            "/",
        ] {
            assert!(!is_of(&asked, &data(of, b"x", None)), "{of}");
        }
        assert!(!is_of(&asked, b"no Data"));
    }

    proptest! {
        #[test]
        fn any_content_of_metadata_is_an_object_under_the_name_or_an_error(
            content in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..60),
                // A Name and possible bytes after it, all random.
                (prop::collection::vec(any::<u8>(), 0..20), prop::collection::vec(any::<u8>(), 0..20))
                    .prop_map(|(name, last)| {
                        [&[7, name.len() as u8], &name[..], &[26, last.len() as u8], &last].concat()
                    }),
                prop::collection::vec(any::<u8>(), 0..20)
                    .prop_map(|last| [&[7, 3, 8, 1, b'a', 26, last.len() as u8], &last[..]].concat()),
            ],
            content_type in prop::option::of(any::<u64>()),
        ) {
            let asked: Name = "/a".parse().unwrap();
            let content_type = content_type.map(ContentType::from_value);
            let wire = data("/a/32=metadata/v=1/seg=0", &content, content_type);
            if let Ok(object) = described(&asked, &wire) {
                prop_assert!(object.name.view().starts_with(asked.view()));
            }
        }
    }

    #[test]
    fn metadata_and_nacks_are_told_apart_from_what_is_neither() {
        let asked: Name = "/a".parse().unwrap();
        let metadata = Metadata { versioned: "/a/v=7".parse().unwrap(), last_segment: Some(4) };
        let mut content = Vec::new();
        metadata.encode(&mut content);
        let object = described(&asked, &data("/a/32=metadata/v=1/seg=0", &content, None)).unwrap();
        assert_eq!((object.name, object.last_segment), (metadata.versioned, Some(4)));
        let wrong = described(&asked, &data("/a/32=metadata/v=1/seg=0", b"hello", None)).unwrap_err();
        assert!(wrong.to_string().starts_with("the metadata of /a cannot be read"), "{wrong}");
        for elsewhere in ["/localhost/nfd/status/v=7", "/b/v=7", "/"] {
            let metadata = Metadata { versioned: elsewhere.parse().unwrap(), last_segment: None };
            let mut content = Vec::new();
            metadata.encode(&mut content);
            let error = described(&asked, &data("/a/32=metadata/v=1/seg=0", &content, None)).unwrap_err();
            assert!(
                matches!(&error, GetError::Elsewhere(_, other) if *other == metadata.versioned),
                "{error}"
            );
        }
        let nack = data("/a/32=metadata/v=1/seg=0", b"", Some(ContentType::Nack));
        assert!(matches!(described(&asked, &nack), Err(GetError::Absent(_))));
        assert!(matches!(named(nack, &asked), Err(GetError::Absent(_))));
    }
}
